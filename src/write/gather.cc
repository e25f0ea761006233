#include "write/gather.h"

#include <unordered_map>
#include <utility>

#include <arrow/compute/api.h>

#include "write/combine.h"
#include "write/convert.h"

namespace timelake::write {
namespace {

std::shared_ptr<arrow::Array> PositionsOf(const RowSlice& rows) {
  const int64_t length = rows.end - rows.begin;
  auto buffer = arrow::Buffer::Wrap(rows.order->data() + rows.begin, static_cast<size_t>(length));
  return std::make_shared<arrow::UInt32Array>(length, std::move(buffer));
}

// Numbers values in the order of their first use.
class FirstUse {
 public:
  FirstUse(int64_t values, int64_t rows) {
    // Few rows of a large dictionary, as in one of thousands of partitions: no table of all values.
    if (values <= 4 * rows) table_.assign(static_cast<size_t>(values), -1);
  }

  int32_t NumberOf(int32_t value) {
    int32_t& number = table_.empty() ? map_.try_emplace(value, -1).first->second : table_[value];
    if (number < 0) {
      number = static_cast<int32_t>(used_.size());
      used_.push_back(value);
    }
    return number;
  }

  const std::vector<int32_t>& used() const { return used_; }

 private:
  std::vector<int32_t> table_;
  std::unordered_map<int32_t, int32_t> map_;
  std::vector<int32_t> used_;
};

Result<std::shared_ptr<arrow::Array>> CompactDictionary(const arrow::DictionaryArray& array) {
  const auto& indices = static_cast<const arrow::Int32Array&>(*array.indices());
  const int64_t length = indices.length();
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> codes,
                     arrow::AllocateBuffer(length * static_cast<int64_t>(sizeof(int32_t))));
  auto* out = reinterpret_cast<int32_t*>(codes->mutable_data());
  FirstUse first_use(array.dictionary()->length(), length);
  const bool has_nulls = indices.null_count() > 0;
  const int32_t* values = indices.raw_values();
  for (int64_t i = 0; i < length; ++i) {
    out[i] = has_nulls && indices.IsNull(i) ? 0 : first_use.NumberOf(values[i]);
  }
  const auto& used = first_use.used();
  const auto positions = std::make_shared<arrow::Int32Array>(
      static_cast<int64_t>(used.size()), arrow::Buffer::Wrap(used.data(), used.size()));
  TL_ASSIGN_OR_RAISE(auto dictionary,
                     arrow::compute::Take(*array.dictionary(), *positions,
                                          arrow::compute::TakeOptions::NoBoundsCheck()));
  TL_ASSIGN_OR_RAISE(auto validity, ValidityOf(indices));
  auto compact = std::make_shared<arrow::Int32Array>(length, codes, validity);
  return std::make_shared<arrow::DictionaryArray>(array.type(), compact, dictionary);
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> GatherColumn(const std::shared_ptr<arrow::Array>& column,
                                                   const RowSlice& rows, bool keep_dictionary) {
  std::shared_ptr<arrow::Array> gathered;
  if (rows.in_place) {
    gathered = column->Slice(rows.begin, rows.end - rows.begin);
  } else {
    TL_ASSIGN_OR_RAISE(gathered,
                       arrow::compute::Take(*column, *PositionsOf(rows),
                                            arrow::compute::TakeOptions::NoBoundsCheck()));
  }
  if (gathered->type_id() != arrow::Type::DICTIONARY) return gathered;
  if (!keep_dictionary) return WithoutDictionary(gathered);
  return CompactDictionary(static_cast<const arrow::DictionaryArray&>(*gathered));
}

Result<std::shared_ptr<arrow::Array>> GatherAs(const std::shared_ptr<arrow::Array>& column,
                                               const RowSlice& rows, bool dictionary) {
  TL_ASSIGN_OR_RAISE(auto gathered, GatherColumn(column, rows, dictionary));
  if (!dictionary || gathered->type_id() == arrow::Type::DICTIONARY) return gathered;
  TL_ASSIGN_OR_RAISE(arrow::Datum encoded, arrow::compute::DictionaryEncode(gathered));
  return encoded.make_array();
}

}  // namespace timelake::write

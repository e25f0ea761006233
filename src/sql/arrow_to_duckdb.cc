#include "sql/arrow_to_duckdb.h"

#include <utility>

#include <arrow/type.h>
#include <duckdb/common/types/vector.hpp>

#include "sql/arrow_values.h"

namespace timelake::sql {

namespace {

// Shares ownership of the Arrow memory that a vector points into.
class ArrowKeeper : public duckdb::VectorBuffer {
 public:
  explicit ArrowKeeper(std::shared_ptr<arrow::ArrayData> data)
      : duckdb::VectorBuffer(duckdb::VectorBufferType::OPAQUE_BUFFER), data_(std::move(data)) {}

 private:
  std::shared_ptr<arrow::ArrayData> data_;
};

void KeepAlive(const std::shared_ptr<arrow::ArrayData>& data, duckdb::Vector& out) {
  auto keeper = duckdb::make_buffer<ArrowKeeper>(data);
  switch (out.GetType().InternalType()) {
    case duckdb::PhysicalType::VARCHAR:
      duckdb::StringVector::AddBuffer(out, std::move(keeper));
      return;
    case duckdb::PhysicalType::STRUCT:
      for (size_t i = 0; i < data->child_data.size(); ++i) {
        KeepAlive(data->child_data[i], *duckdb::StructVector::GetEntries(out)[i]);
      }
      return;
    case duckdb::PhysicalType::LIST:
      return KeepAlive(data->child_data[0], duckdb::ListVector::GetEntry(out));
    default: out.SetAuxiliary(std::move(keeper));
  }
}

}  // namespace

// The dictionary of the last array, as a vector whose identity operators recognise: they hash each
// of its strings once. The entry behind the last one is NULL.
struct ArrowColumn::Dictionary {
  std::shared_ptr<arrow::ArrayData> source;
  duckdb::buffer_ptr<duckdb::VectorChildBuffer> values;
};

ArrowColumn::ArrowColumn() = default;
ArrowColumn::~ArrowColumn() = default;
ArrowColumn::ArrowColumn(ArrowColumn&&) noexcept = default;
ArrowColumn& ArrowColumn::operator=(ArrowColumn&&) noexcept = default;

bool ArrowColumn::TryDictionary(const std::shared_ptr<arrow::ArrayData>& column, int64_t start,
                                duckdb::idx_t count, duckdb::Vector& out) {
  const auto& source = column->dictionary;
  if (out.GetType().InternalType() != duckdb::PhysicalType::VARCHAR) return false;
  if (!dictionary_ || dictionary_->source != source) {
    // Converting a dictionary that is larger than what uses it costs more than plain strings.
    if (source->length > column->length) return false;
    const auto size = static_cast<duckdb::idx_t>(source->length);
    auto fresh = std::make_unique<Dictionary>();
    fresh->source = source;
    fresh->values = duckdb::DictionaryVector::CreateReusableDictionary(out.GetType(), size + 1);
    duckdb::Vector& values = fresh->values->data;
    ConvertValues(*source, source->offset, size, values, Borrow::kYes);
    KeepAlive(source, values);
    // Initialize() of the null bits covers `size` rows only; this one may be beyond.
    auto& mask = duckdb::FlatVector::Validity(values);
    if (mask.AllValid()) mask.Initialize(size + 1);
    if (mask.Capacity() < size + 1) mask.Resize(size + 1);
    duckdb::FlatVector::GetData<duckdb::string_t>(values)[size] = duckdb::string_t("", 0);
    duckdb::FlatVector::SetNull(values, size, true);
    dictionary_ = std::move(fresh);
  }
  const auto null_index = static_cast<duckdb::sel_t>(source->length);
  const bool has_nulls = column->GetNullCount() != 0;
  duckdb::SelectionVector selection(count);
  for (duckdb::idx_t i = 0; i < count; ++i) {
    const int64_t at = start + static_cast<int64_t>(i);
    const bool null = has_nulls && IsNullAt(*column, at - column->offset);
    selection.set_index(i, null ? null_index : static_cast<duckdb::sel_t>(IndexAt(*column, at)));
  }
  out.Dictionary(dictionary_->values, selection);
  return true;
}

void ArrowColumn::Convert(const std::shared_ptr<arrow::ArrayData>& column, int64_t row,
                          duckdb::idx_t count, duckdb::Vector& out) {
  const int64_t start = column->offset + row;
  if (column->type->id() == arrow::Type::DICTIONARY && TryDictionary(column, start, count, out)) {
    return;
  }
  ConvertValues(*column, start, count, out, Borrow::kYes);
  KeepAlive(column, out);
}

}  // namespace timelake::sql

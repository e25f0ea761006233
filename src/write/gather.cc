#include "write/gather.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <arrow/compute/api.h>
#include <arrow/util/bitmap_generate.h>

#include "base/memory.h"
#include "write/combine.h"
#include "write/take_strings.h"

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

// Rows of one series lie far apart where series report in turn: values are asked for early.
constexpr int64_t kAhead = 24;

// Where an array holds values.
class Validity {
 public:
  explicit Validity(const arrow::Array& array)
      : bits_(array.null_bitmap_data()), offset_(array.offset()) {}
  bool operator[](int64_t row) const {
    return bits_ == nullptr || arrow::bit_util::GetBit(bits_, offset_ + row);
  }

 private:
  const uint8_t* bits_;
  int64_t offset_;
};

// Rows of a slice of a column that is whole.
class WholeRows {
 public:
  WholeRows(const arrow::Array& array, const RowSlice& slice)
      : array_(array), order_(slice.order->data() + slice.begin) {}

  template <typename T>
  void Values(int64_t count, T* out) const {
    const T* values = array_.data()->GetValues<T>(1);
    const int64_t ahead = std::max<int64_t>(0, count - kAhead);
    int64_t i = 0;
    for (; i < ahead; ++i) {
      __builtin_prefetch(values + order_[i + kAhead]);
      out[i] = values[order_[i]];
    }
    for (; i < count; ++i) out[i] = values[order_[i]];
  }
  bool has_nulls() const { return array_.null_count() > 0; }
  void ValidBits(int64_t count, uint8_t* out) const {
    const Validity valid(array_);
    const uint32_t* row = order_;
    arrow::internal::GenerateBitsUnrolled(out, 0, count, [&] { return valid[*row++]; });
  }

 private:
  const arrow::Array& array_;
  const uint32_t* order_;
};

// Rows of a slice of a column in parts.
class PartRows {
 public:
  PartRows(const arrow::ArrayVector& parts, const PartMap::Place* places)
      : parts_(parts), places_(places) {}

  template <typename T>
  void Values(int64_t count, T* out) const {
    std::vector<const T*> values;
    for (const auto& part : parts_) values.push_back(part->data()->GetValues<T>(1));
    const int64_t ahead = std::max<int64_t>(0, count - kAhead);
    int64_t i = 0;
    for (; i < ahead; ++i) {
      const PartMap::Place later = places_[i + kAhead];
      __builtin_prefetch(values[later.part] + later.row);
      out[i] = values[places_[i].part][places_[i].row];
    }
    for (; i < count; ++i) out[i] = values[places_[i].part][places_[i].row];
  }
  bool has_nulls() const {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const auto& part) { return part->null_count() > 0; });
  }
  void ValidBits(int64_t count, uint8_t* out) const {
    std::vector<Validity> valid;
    for (const auto& part : parts_) valid.emplace_back(*part);
    const PartMap::Place* place = places_;
    arrow::internal::GenerateBitsUnrolled(out, 0, count, [&] {
      const bool bit = valid[place->part][place->row];
      ++place;
      return bit;
    });
  }

 private:
  const arrow::ArrayVector& parts_;
  const PartMap::Place* places_;
};

template <typename T, typename Source>
Result<std::shared_ptr<arrow::Array>> GatherFixed(const Source& source, int64_t count,
                                                  const std::shared_ptr<arrow::DataType>& type) {
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                     arrow::AllocateBuffer(count * static_cast<int64_t>(sizeof(T)), CurrentPool()));
  source.Values(count, reinterpret_cast<T*>(values->mutable_data()));
  std::shared_ptr<arrow::Buffer> validity;
  if (source.has_nulls()) {
    TL_ASSIGN_OR_RAISE(validity, arrow::AllocateEmptyBitmap(count, CurrentPool()));
    source.ValidBits(count, validity->mutable_data());
  }
  return arrow::MakeArray(arrow::ArrayData::Make(type, count, {validity, values}));
}

// Null: not a type of 4 or 8 bytes.
template <typename Source>
Result<std::shared_ptr<arrow::Array>> GatherNumbers(const Source& source, int64_t count,
                                                    const std::shared_ptr<arrow::DataType>& type) {
  switch (arrow::is_primitive(type->id()) ? type->byte_width() : 0) {
    case sizeof(uint32_t): return GatherFixed<uint32_t>(source, count, type);
    case sizeof(uint64_t): return GatherFixed<uint64_t>(source, count, type);
    default: return nullptr;
  }
}

// Codes and dictionary of the rows in one pass.
Result<std::shared_ptr<arrow::Array>> GatherDictionary(const arrow::DictionaryArray& array,
                                                       const RowSlice& slice) {
  const auto& indices = static_cast<const arrow::Int32Array&>(*array.indices());
  const int64_t length = slice.end - slice.begin;
  TL_ASSIGN_OR_RAISE(
      std::shared_ptr<arrow::Buffer> codes,
      arrow::AllocateBuffer(length * static_cast<int64_t>(sizeof(int32_t)), CurrentPool()));
  auto* out = reinterpret_cast<int32_t*>(codes->mutable_data());
  std::shared_ptr<arrow::Buffer> validity;
  const bool has_nulls = indices.null_count() > 0;
  if (has_nulls) {
    TL_ASSIGN_OR_RAISE(validity, arrow::AllocateEmptyBitmap(length, CurrentPool()));
  }
  FirstUse first_use(array.dictionary()->length(), length);
  const int32_t* values = indices.raw_values();
  const uint32_t* order = slice.order->data() + slice.begin;
  for (int64_t i = 0; i < length; ++i) {
    if (i + kAhead < length) __builtin_prefetch(values + order[i + kAhead]);
    if (has_nulls && indices.IsNull(order[i])) {
      out[i] = 0;
      continue;
    }
    out[i] = first_use.NumberOf(values[order[i]]);
    if (has_nulls) arrow::bit_util::SetBit(validity->mutable_data(), i);
  }
  const auto& used = first_use.used();
  const arrow::Int32Array positions(static_cast<int64_t>(used.size()),
                                    arrow::Buffer::Wrap(used.data(), used.size()));
  TL_ASSIGN_OR_RAISE(
      auto dictionary,
      TakeStrings(static_cast<const arrow::StringArray&>(*array.dictionary()), positions));
  auto compact = std::make_shared<arrow::Int32Array>(length, std::move(codes), std::move(validity));
  return std::make_shared<arrow::DictionaryArray>(array.type(), compact, dictionary);
}

Result<std::shared_ptr<arrow::Array>> GatherWhole(const std::shared_ptr<arrow::Array>& column,
                                                  const RowSlice& slice) {
  const int64_t count = slice.end - slice.begin;
  if (slice.in_place) return column->Slice(slice.begin, count);
  if (column->type_id() == arrow::Type::DICTIONARY) {
    const auto& dictionary = static_cast<const arrow::DictionaryArray&>(*column);
    const auto& indices = dictionary.indices();
    TL_ASSIGN_OR_RAISE(auto codes,
                       GatherFixed<int32_t>(WholeRows(*indices, slice), count, indices->type()));
    return TakeStrings(static_cast<const arrow::StringArray&>(*dictionary.dictionary()),
                       static_cast<const arrow::Int32Array&>(*codes));
  }
  TL_ASSIGN_OR_RAISE(auto numbers, GatherNumbers(WholeRows(*column, slice), count, column->type()));
  if (numbers != nullptr) return numbers;
  return arrow::compute::Take(*column, *PositionsOf(slice),
                              arrow::compute::TakeOptions::NoBoundsCheck());
}

}  // namespace

std::vector<PartMap::Place> PlacesOf(const Rows& rows, const RowSlice& slice) {
  std::vector<PartMap::Place> places;
  const bool any = std::any_of(rows.parts.begin(), rows.parts.end(),
                               [](const auto& parts) { return !parts.empty(); });
  if (!any) return places;
  places.reserve(static_cast<size_t>(slice.end - slice.begin));
  for (int64_t i = slice.begin; i < slice.end; ++i) {
    places.push_back(rows.part_map.Find((*slice.order)[static_cast<size_t>(i)]));
  }
  return places;
}

Result<std::shared_ptr<arrow::Array>> Gather(const Rows& rows, size_t column, const RowSlice& slice,
                                             const PartMap::Place* places, bool as_dictionary) {
  const auto& whole = rows.columns[column];
  if (whole == nullptr) {
    const auto& parts = rows.parts[column];
    // In place and within one part: no copy.
    const int64_t count = slice.end - slice.begin;
    if (slice.in_place && count > 0 && places[0].part == places[count - 1].part) {
      return parts[places[0].part]->Slice(places[0].row, count);
    }
    return GatherNumbers(PartRows(parts, places), count, rows.type(column));
  }
  if (as_dictionary && whole->type_id() == arrow::Type::DICTIONARY) {
    return GatherDictionary(static_cast<const arrow::DictionaryArray&>(*whole), slice);
  }
  TL_ASSIGN_OR_RAISE(auto gathered, GatherWhole(whole, slice));
  if (!as_dictionary) return WithoutDictionary(gathered);
  TL_ASSIGN_OR_RAISE(arrow::Datum encoded, arrow::compute::DictionaryEncode(gathered));
  return encoded.make_array();
}

}  // namespace timelake::write

#include "write/combine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <arrow/array/concatenate.h>
#include <arrow/util/bitmap_ops.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/text.h"
#include "iceberg/arrow_schema.h"
#include "write/array_bytes.h"
#include "write/string_codes.h"
#include "write/take_strings.h"

namespace timelake::write {
namespace {

constexpr int64_t kSampledStrings = 4096;

const arrow::DictionaryArray& AsDictionary(const arrow::Array& array) {
  return static_cast<const arrow::DictionaryArray&>(array);
}

// So many cost next to nothing in either form.
constexpr int64_t kFewStrings = 4096;

// Whether strings repeat often enough for a dictionary to pay, by a sample of all chunks.
bool StringsRepeat(const arrow::ArrayVector& chunks, int64_t rows) {
  const int64_t step = std::max<int64_t>(1, rows / kSampledStrings);
  std::unordered_set<std::string_view> distinct;
  int64_t sampled = 0;
  for (const auto& chunk : chunks) {
    if (chunk->type_id() == arrow::Type::DICTIONARY) continue;
    const auto& strings = static_cast<const arrow::StringArray&>(*chunk);
    for (int64_t i = 0; i < strings.length(); i += step) {
      if (strings.IsNull(i)) continue;
      distinct.insert(strings.GetView(i));
      ++sampled;
    }
  }
  return 2 * static_cast<int64_t>(distinct.size()) <= sampled + 1;
}

// One bitmap of the validity of all chunks; null when there are no nulls.
Result<std::shared_ptr<arrow::Buffer>> JoinValidity(const arrow::ArrayVector& chunks,
                                                    int64_t rows) {
  const bool nulls = std::any_of(chunks.begin(), chunks.end(),
                                 [](const auto& chunk) { return chunk->null_count() > 0; });
  if (!nulls) return nullptr;
  TL_ASSIGN_OR_RAISE(auto bitmap, arrow::AllocateEmptyBitmap(rows, CurrentPool()));
  int64_t row = 0;
  for (const auto& chunk : chunks) {
    if (chunk->null_bitmap_data() == nullptr) {
      arrow::bit_util::SetBitsTo(bitmap->mutable_data(), row, chunk->length(), true);
    } else {
      arrow::internal::CopyBitmap(chunk->null_bitmap_data(), chunk->offset(), chunk->length(),
                                  bitmap->mutable_data(), row);
    }
    row += chunk->length();
  }
  return bitmap;
}

// Codes of one chunk in the dictionary of all. `translated` is that of the chunk before, and
// `source` the dictionary that it is of: batches of one source often share it.
void EncodeChunk(const arrow::Array& chunk, StringCodes* codes,
                 std::shared_ptr<arrow::ArrayData>* source, std::vector<int32_t>* translated,
                 const int32_t* devices, int32_t* out) {
  if (chunk.type_id() != arrow::Type::DICTIONARY) {
    codes->Encode(static_cast<const arrow::StringArray&>(chunk), devices, out);
    return;
  }
  const auto& dictionary = *AsDictionary(chunk).dictionary();
  if (*source != dictionary.data()) {
    *source = dictionary.data();
    translated->resize(static_cast<size_t>(dictionary.length()));
    codes->Encode(static_cast<const arrow::StringArray&>(dictionary), nullptr, translated->data());
  }
  const auto& indices = static_cast<const arrow::Int32Array&>(*AsDictionary(chunk).indices());
  const int32_t* values = indices.raw_values();
  const bool has_nulls = indices.null_count() > 0;
  for (int64_t i = 0; i < indices.length(); ++i) {
    out[i] = has_nulls && indices.IsNull(i) ? 0 : (*translated)[static_cast<size_t>(values[i])];
  }
}

Result<std::shared_ptr<arrow::Array>> UnifyDictionaries(arrow::ArrayVector chunks, int64_t rows,
                                                        const int32_t* devices) {
  TL_ASSIGN_OR_RAISE(auto validity, JoinValidity(chunks, rows));
  TL_ASSIGN_OR_RAISE(
      std::shared_ptr<arrow::Buffer> buffer,
      arrow::AllocateBuffer(rows * static_cast<int64_t>(sizeof(int32_t)), CurrentPool()));
  auto* out = reinterpret_cast<int32_t*>(buffer->mutable_data());
  StringCodes codes;
  std::shared_ptr<arrow::ArrayData> source;
  std::vector<int32_t> translated;
  for (auto& chunk : chunks) {
    EncodeChunk(*chunk, &codes, &source, &translated, devices, out);
    out += chunk->length();
    if (devices != nullptr) devices += chunk->length();
    chunk.reset();
  }
  TL_ASSIGN_OR_RAISE(auto dictionary, codes.Finish());
  auto indices = std::make_shared<arrow::Int32Array>(rows, buffer, validity);
  return std::make_shared<arrow::DictionaryArray>(arrow::dictionary(arrow::int32(), arrow::utf8()),
                                                  indices, dictionary);
}

template <typename T>
bool AnyNan(const arrow::ArrayData& data) {
  const T* values = data.GetValues<T>(1);
  return std::any_of(values, values + data.length, [](T value) { return std::isnan(value); });
}

Result<std::shared_ptr<arrow::Array>> CombineColumn(const Target& target,
                                                    const iceberg::Field& field, bool is_key,
                                                    arrow::ArrayVector chunks, int64_t rows,
                                                    const int32_t* devices) {
  if (field.type.id == iceberg::TypeId::kString && rows > 0) {
    const bool all_dictionaries = std::all_of(chunks.begin(), chunks.end(), [](const auto& chunk) {
      return chunk->type_id() == arrow::Type::DICTIONARY;
    });
    if (is_key || all_dictionaries || (rows > kFewStrings && StringsRepeat(chunks, rows))) {
      return UnifyDictionaries(std::move(chunks), rows, devices);
    }
    if (rows <= kFewStrings) {  // to find out takes as long as to do it
      TL_ASSIGN_OR_RAISE(auto coded, UnifyDictionaries(chunks, rows, devices));
      const int64_t some = rows - coded->null_count();
      if (2 * AsDictionary(*coded).dictionary()->length() <= some + 1) return coded;
    }
    for (auto& chunk : chunks) {
      TL_ASSIGN_OR_RAISE(chunk, WithoutDictionary(chunk));
    }
  }
  if (chunks.size() == 1) return chunks[0];
  auto whole = arrow::Concatenate(chunks, CurrentPool());
  if (!whole.ok()) {
    return InvalidArgument("table {}, column {}: {}; append fewer rows at a time",
                           target.table_name, Quote(field.name), MessageOf(whole.status()));
  }
  return whole;
}

// Shorter parts are cheaper to join than to look up.
constexpr int64_t kLeastPartRows = 4096;

// Numbers by which rows are neither ordered nor partitioned.
bool MayStayInParts(const Target& target, const iceberg::Field& field) {
  const auto type = iceberg::ToArrow(field.type)->id();
  const bool number = arrow::is_primitive(type) && type != arrow::Type::BOOL;
  const auto uses = [&](const auto& entry) { return entry.source_id == field.id; };
  const auto& contract = target.contract;
  const auto& order = target.order.fields;
  const auto& spec = target.spec.fields;
  return number && contract.time_id != field.id && contract.ingest_time_id != field.id &&
         std::find(contract.key_ids.begin(), contract.key_ids.end(), field.id) ==
             contract.key_ids.end() &&
         std::none_of(order.begin(), order.end(), uses) &&
         std::none_of(spec.begin(), spec.end(), uses);
}

}  // namespace

// Looks below nulls as well: a false alarm costs statistics only.
bool HoldsNan(const arrow::ArrayData& data) {
  if (data.length == 0) return false;
  if (data.type->id() == arrow::Type::FLOAT) return AnyNan<float>(data);
  if (data.type->id() == arrow::Type::DOUBLE) return AnyNan<double>(data);
  return std::any_of(data.child_data.begin(), data.child_data.end(),
                     [](const auto& child) { return HoldsNan(*child); });
}

Result<std::shared_ptr<arrow::Array>> WithoutDictionary(
    const std::shared_ptr<arrow::Array>& array) {
  if (array->type_id() != arrow::Type::DICTIONARY) return array;
  const auto& dictionary = AsDictionary(*array);
  return TakeStrings(static_cast<const arrow::StringArray&>(*dictionary.dictionary()),
                     static_cast<const arrow::Int32Array&>(*dictionary.indices()));
}

Result<std::shared_ptr<arrow::Array>> CodeStrings(std::shared_ptr<arrow::Array> strings) {
  const int64_t rows = strings->length();
  if (strings->type_id() != arrow::Type::STRING || rows == 0) return strings;
  if (rows > kFewStrings && !StringsRepeat({strings}, rows)) return strings;
  return UnifyDictionaries({std::move(strings)}, rows, nullptr);
}

PartMap::PartMap(std::vector<int64_t> lengths) {
  begin_.push_back(0);
  for (const int64_t length : lengths) begin_.push_back(begin_.back() + length);
  uint32_t part = 0;
  for (int64_t row = 0; row < begin_.back(); row += int64_t{1} << kBlockBits) {
    while (row >= begin_[part + 1]) ++part;
    of_block_.push_back(part);
  }
}

Result<Rows> Combine(const Target& target, std::vector<std::shared_ptr<arrow::RecordBatch>> batches,
                     int threads) {
  const auto& fields = target.schema.fields;
  Rows rows;
  std::vector<int64_t> lengths;
  for (const auto& batch : batches) lengths.push_back(batch->num_rows());
  rows.count = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  if (rows.count >= std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("table {}: {} rows in one append; accepted are up to {}",
                           target.table_name, rows.count, std::numeric_limits<int32_t>::max() - 1);
  }
  std::vector<arrow::ArrayVector> chunks(fields.size());
  for (const auto& batch : batches) {
    for (size_t i = 0; i < fields.size(); ++i) {
      chunks[i].push_back(batch->column(static_cast<int>(i)));
    }
  }
  batches.clear();
  const auto parts = static_cast<int64_t>(lengths.size());
  const bool in_parts = parts > 1 && rows.count >= parts * kLeastPartRows;
  if (in_parts) rows.part_map = PartMap(std::move(lengths));
  rows.columns.resize(fields.size());
  rows.parts.resize(fields.size());
  rows.may_hold_nan.resize(fields.size());
  std::vector<int64_t> bytes(fields.size());
  const auto& keys = target.contract.key_ids;
  const auto is_key = [&](size_t i) {
    return std::find(keys.begin(), keys.end(), fields[i].id) != keys.end();
  };
  const auto combine = [&](size_t i, const int32_t* devices) -> Status {
    if (in_parts && MayStayInParts(target, fields[i])) {
      rows.parts[i] = std::move(chunks[i]);
    } else {
      TL_ASSIGN_OR_RAISE(rows.columns[i], CombineColumn(target, fields[i], is_key(i),
                                                        std::move(chunks[i]), rows.count, devices));
    }
    const auto look = [&](const arrow::Array& array) {
      rows.may_hold_nan[i] = rows.may_hold_nan[i] || HoldsNan(*array.data());
      bytes[i] += BytesOf(*array.data());
    };
    if (rows.columns[i] != nullptr) look(*rows.columns[i]);
    for (const auto& part : rows.parts[i]) look(*part);
    return Status::OK();
  };
  // Other strings come after the key: most are tags, which a device keeps.
  std::vector<size_t> first, second;
  const int32_t* devices = nullptr;
  for (size_t i = 0; i < fields.size(); ++i) {
    const bool tag = fields[i].type.id == iceberg::TypeId::kString && !is_key(i);
    (tag ? second : first).push_back(i);
  }
  TL_RETURN_NOT_OK(ParallelColumns(static_cast<int>(first.size()), threads,
                                   [&](int i) { return combine(first[i], nullptr); }));
  for (size_t i = 0; i < fields.size() && devices == nullptr; ++i) {
    const auto& column = rows.columns[i];
    if (!is_key(i) || column == nullptr || column->type_id() != arrow::Type::DICTIONARY) continue;
    devices = AsDictionary(*column).indices()->data()->GetValues<int32_t>(1);
  }
  TL_RETURN_NOT_OK(ParallelColumns(static_cast<int>(second.size()), threads,
                                   [&](int i) { return combine(second[i], devices); }));
  const int64_t all = std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  rows.row_bytes = static_cast<double>(all) / static_cast<double>(std::max<int64_t>(1, rows.count));
  return rows;
}

}  // namespace timelake::write

#include "write/combine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <arrow/array/concatenate.h>
#include <arrow/compute/api.h>
#include <arrow/util/byte_size.h>

#include "base/text.h"
#include "write/parallel.h"

namespace timelake::write {
namespace {

constexpr int64_t kSampledStrings = 4096;

const arrow::DictionaryArray& AsDictionary(const arrow::Array& array) {
  return static_cast<const arrow::DictionaryArray&>(array);
}

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

// Appends the codes of one chunk, translated to the dictionary of all.
void TranslateCodes(const arrow::DictionaryArray& chunk, const int32_t* translated,
                    int32_t* codes) {
  const auto& indices = static_cast<const arrow::Int32Array&>(*chunk.indices());
  const int32_t* values = indices.raw_values();
  for (int64_t i = 0; i < indices.length(); ++i) {
    codes[i] = indices.IsNull(i) ? 0 : translated[values[i]];
  }
}

// One bitmap of the validity of all chunks; null when there are no nulls.
Result<std::shared_ptr<arrow::Buffer>> JoinValidity(const arrow::ArrayVector& chunks,
                                                    int64_t rows) {
  const bool nulls = std::any_of(chunks.begin(), chunks.end(),
                                 [](const auto& chunk) { return chunk->null_count() > 0; });
  if (!nulls) return nullptr;
  TL_ASSIGN_OR_RAISE(auto bitmap, arrow::AllocateEmptyBitmap(rows));
  int64_t row = 0;
  for (const auto& chunk : chunks) {
    for (int64_t i = 0; i < chunk->length(); ++i, ++row) {
      if (chunk->IsValid(i)) arrow::bit_util::SetBit(bitmap->mutable_data(), row);
    }
  }
  return bitmap;
}

Result<std::shared_ptr<arrow::Array>> UnifyDictionaries(arrow::ArrayVector chunks, int64_t rows) {
  for (auto& chunk : chunks) {
    if (chunk->type_id() == arrow::Type::DICTIONARY) continue;
    TL_ASSIGN_OR_RAISE(arrow::Datum encoded, arrow::compute::DictionaryEncode(chunk));
    chunk = encoded.make_array();
  }
  TL_ASSIGN_OR_RAISE(auto unifier, arrow::DictionaryUnifier::Make(arrow::utf8()));
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> codes,
                     arrow::AllocateBuffer(rows * static_cast<int64_t>(sizeof(int32_t))));
  auto* out = reinterpret_cast<int32_t*>(codes->mutable_data());
  const arrow::Array* last = nullptr;  // batches of one source often share their dictionary
  std::shared_ptr<arrow::Buffer> translated;
  for (const auto& chunk : chunks) {
    const auto& dictionary = AsDictionary(*chunk).dictionary();
    if (last == nullptr || last->data() != dictionary->data()) {
      TL_RETURN_NOT_OK(unifier->Unify(*dictionary, &translated));
    }
    last = dictionary.get();
    TranslateCodes(AsDictionary(*chunk), reinterpret_cast<const int32_t*>(translated->data()), out);
    out += chunk->length();
  }
  std::shared_ptr<arrow::Array> dictionary;
  TL_RETURN_NOT_OK(unifier->GetResultWithIndexType(arrow::int32(), &dictionary));
  TL_ASSIGN_OR_RAISE(auto validity, JoinValidity(chunks, rows));
  auto indices = std::make_shared<arrow::Int32Array>(rows, codes, validity);
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
                                                    arrow::ArrayVector chunks, int64_t rows) {
  if (field.type.id == iceberg::TypeId::kString && rows > 0) {
    const bool all_dictionaries = std::all_of(chunks.begin(), chunks.end(), [](const auto& chunk) {
      return chunk->type_id() == arrow::Type::DICTIONARY;
    });
    if (is_key || all_dictionaries || StringsRepeat(chunks, rows)) {
      return UnifyDictionaries(std::move(chunks), rows);
    }
    for (auto& chunk : chunks) {
      TL_ASSIGN_OR_RAISE(chunk, WithoutDictionary(chunk));
    }
  }
  if (chunks.size() == 1) return chunks[0];
  auto whole = arrow::Concatenate(chunks);
  if (!whole.ok()) {
    return InvalidArgument("table {}, column {}: {}; append fewer rows at a time",
                           target.table_name, Quote(field.name), MessageOf(whole.status()));
  }
  return whole;
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
  return arrow::compute::Take(*dictionary.dictionary(), *dictionary.indices(),
                              arrow::compute::TakeOptions::NoBoundsCheck());
}

Result<Rows> Combine(const Target& target, std::vector<std::shared_ptr<arrow::RecordBatch>> batches,
                     int threads) {
  const auto& fields = target.schema.fields;
  Rows rows;
  for (const auto& batch : batches) rows.count += batch->num_rows();
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
  rows.columns.resize(fields.size());
  rows.may_hold_nan.resize(fields.size());
  TL_RETURN_NOT_OK(ParallelFor(static_cast<int>(fields.size()), threads, [&](int i) -> Status {
    const auto& keys = target.contract.key_ids;
    const bool is_key = std::find(keys.begin(), keys.end(), fields[i].id) != keys.end();
    TL_ASSIGN_OR_RAISE(rows.columns[i],
                       CombineColumn(target, fields[i], is_key, std::move(chunks[i]), rows.count));
    rows.may_hold_nan[i] = HoldsNan(*rows.columns[i]->data());
    return Status::OK();
  }));
  int64_t bytes = 0;
  for (const auto& column : rows.columns) bytes += arrow::util::TotalBufferSize(*column);
  rows.row_bytes =
      static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, rows.count));
  return rows;
}

}  // namespace timelake::write

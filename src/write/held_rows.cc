#include "write/held_rows.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <arrow/array.h>
#include <arrow/extension_type.h>

#include "write/array_bytes.h"

namespace timelake::write {
namespace {

// Ranks, positions and times of a row while it is sorted.
constexpr int64_t kSortBytes = 24;
// No column of strings may outgrow 32-bit offsets.
constexpr int64_t kMostHeld = int64_t{1900} << 20;
constexpr int64_t kMostMerged = int64_t{512} << 20;

// Rows whose keys are looked at. Of fewer series than that the keys are small beside the rows.
constexpr int64_t kSampledRows = 1 << 16;
// Of a series: codes, ranks and hash slots; and its key in a dictionary, which is copied once.
constexpr double kSeriesBytes = 64;
constexpr double kKeyCopies = 2;

uint64_t HashAt(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return 0;
  switch (array.type_id()) {
    case arrow::Type::DICTIONARY: {
      const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
      return HashAt(*encoded.dictionary(), encoded.GetValueIndex(row));
    }
    case arrow::Type::EXTENSION:
      return HashAt(*static_cast<const arrow::ExtensionArray&>(array).storage(), row);
    case arrow::Type::BOOL:
      return 1 + static_cast<uint64_t>(static_cast<const arrow::BooleanArray&>(array).Value(row));
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return std::hash<std::string_view>()(
          static_cast<const arrow::BinaryArray&>(array).GetView(row));
    default: break;
  }
  const int64_t width = array.type()->byte_width();
  const auto* bytes = reinterpret_cast<const char*>(array.data()->buffers[1]->data());
  return std::hash<std::string_view>()(
      {bytes + (array.offset() + row) * width, static_cast<size_t>(width)});
}

}  // namespace

std::vector<int> KeyColumns(const Target& target) {
  std::vector<int> columns;
  for (size_t i = 0; i < target.schema.fields.size(); ++i) {
    const auto& ids = target.contract.key_ids;
    if (std::find(ids.begin(), ids.end(), target.schema.fields[i].id) == ids.end()) continue;
    columns.push_back(static_cast<int>(i));
  }
  return columns;
}

MemoryPlan PlanMemory(int64_t budget) {
  return {std::min(budget / 2, kMostHeld), std::min(budget / 6, kMostMerged), budget / 8};
}

void HeldRows::Add(std::shared_ptr<arrow::RecordBatch> batch) {
  dictionaries_.resize(static_cast<size_t>(batch->num_columns()), nullptr);
  for (int i = 0; i < batch->num_columns(); ++i) {
    const auto& column = batch->column(i);
    if (column->type_id() != arrow::Type::DICTIONARY) {
      bytes_ += BytesOf(*column->data());
      continue;
    }
    const auto& encoded = static_cast<const arrow::DictionaryArray&>(*column);
    bytes_ += BytesOf(*encoded.indices()->data());
    const arrow::ArrayData* dictionary = encoded.dictionary()->data().get();
    if (std::exchange(dictionaries_[static_cast<size_t>(i)], dictionary) == dictionary) continue;
    bytes_ += BytesOf(*dictionary);
  }
  bytes_ += kSortBytes * batch->num_rows();
  rows_ += batch->num_rows();
  batches_.push_back(std::move(batch));
  if (!estimated_ && bytes_ > limit_ / 4) EstimateSeries();
}

void HeldRows::EstimateSeries() {
  estimated_ = true;
  series_bytes_ = 0;
  if (key_columns_.empty() || rows_ == 0) return;
  const int64_t step = std::max<int64_t>(1, rows_ / kSampledRows);
  std::unordered_set<uint64_t> series;
  int64_t sampled = 0, key_bytes = 0, next = 0;
  for (const auto& batch : batches_) {
    for (const int i : key_columns_) key_bytes += BytesOf(*batch->column_data(i));
    for (; next < batch->num_rows(); next += step, ++sampled) {
      uint64_t hash = 0;
      for (const int i : key_columns_) {
        hash = hash * 0x9E3779B97F4A7C15u + HashAt(*batch->column(i), next);
      }
      series.insert(hash);
    }
    next -= batch->num_rows();
  }
  const double share = static_cast<double>(series.size()) / static_cast<double>(sampled);
  if (share < 0.5) return;
  const auto rows = static_cast<double>(rows_);
  const double row_bytes = static_cast<double>(bytes_) / rows - kSortBytes;
  const double of_key = static_cast<double>(key_bytes) / rows;
  series_bytes_ = share * (kSeriesBytes + kKeyCopies * of_key + row_bytes);
}

std::vector<std::shared_ptr<arrow::RecordBatch>> HeldRows::Take() {
  bytes_ = rows_ = 0;
  estimated_ = false;
  dictionaries_.clear();
  return std::exchange(batches_, {});
}

int64_t HeldRows::FittingRows(const arrow::RecordBatch& batch) const {
  const int64_t rows = batch.num_rows();
  int64_t bytes = kSortBytes * rows;
  for (int i = 0; i < batch.num_columns(); ++i) bytes += BytesOf(*batch.column_data(i));
  if (bytes_ + SeriesBytes() + bytes <= limit_ || bytes <= limit_ / 4) return rows;
  const double row_bytes = static_cast<double>(bytes) / static_cast<double>(rows);
  return std::clamp(static_cast<int64_t>(static_cast<double>(limit_) / 4 / row_bytes), int64_t{1},
                    rows);
}

}  // namespace timelake::write

#include "write/held_rows.h"

#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/util/byte_size.h>

namespace timelake::write {
namespace {

// Ranks, positions and times of a row while it is sorted.
constexpr int64_t kSortBytes = 24;
// No column of strings may outgrow 32-bit offsets.
constexpr int64_t kMostHeld = int64_t{1900} << 20;
constexpr int64_t kMostMerged = int64_t{512} << 20;

// Of a part of larger buffers, that part. Buffers that cannot be told apart count as a whole.
int64_t BytesOf(const arrow::ArrayData& data) {
  return arrow::util::ReferencedBufferSize(data).ValueOr(arrow::util::TotalBufferSize(data));
}

}  // namespace

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
}

std::vector<std::shared_ptr<arrow::RecordBatch>> HeldRows::Take() {
  bytes_ = rows_ = 0;
  dictionaries_.clear();
  return std::exchange(batches_, {});
}

int64_t HeldRows::FittingRows(const arrow::RecordBatch& batch) const {
  const int64_t rows = batch.num_rows();
  int64_t bytes = kSortBytes * rows;
  for (int i = 0; i < batch.num_columns(); ++i) bytes += BytesOf(*batch.column_data(i));
  if (bytes_ + bytes <= limit_ || bytes <= limit_ / 4) return rows;
  const double row_bytes = static_cast<double>(bytes) / static_cast<double>(rows);
  return std::clamp(static_cast<int64_t>(static_cast<double>(limit_) / 4 / row_bytes), int64_t{1},
                    rows);
}

}  // namespace timelake::write

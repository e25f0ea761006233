#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <arrow/record_batch.h>

#include "write/write.h"

namespace timelake::write {

// How `write-memory-bytes` is spent.
struct MemoryPlan {
  int64_t held = 0;   // rows that are read before they are sorted, with the memory of sorting
  int64_t merge = 0;  // rows of all runs while they are merged
  int64_t group = 0;  // a row group on its way into a file
};
MemoryPlan PlanMemory(int64_t budget);

// Positions of the series key's columns in an aligned batch.
std::vector<int> KeyColumns(const Target& target);

// Aligned batches that wait to be sorted, and what they take: with the memory of sorting, and where
// nearly every row is of a series of its own with that of so many keys and newest rows.
class HeldRows {
 public:
  explicit HeldRows(int64_t limit, std::vector<int> key_columns = {})
      : limit_(limit), key_columns_(std::move(key_columns)) {}

  void Add(std::shared_ptr<arrow::RecordBatch> batch);
  bool full() const { return bytes_ + SeriesBytes() >= limit_ || rows_ >= kMostRows; }
  bool empty() const { return rows_ == 0; }
  int64_t rows() const { return rows_; }
  std::vector<std::shared_ptr<arrow::RecordBatch>> Take();

  // Rows of `batch`, which is not aligned yet, that fit at once; a batch that fits as a whole is
  // not cut.
  int64_t FittingRows(const arrow::RecordBatch& batch) const;

 private:
  static constexpr int64_t kMostRows = int64_t{1} << 30;

  int64_t SeriesBytes() const {
    return static_cast<int64_t>(static_cast<double>(rows_) * series_bytes_);
  }
  void EstimateSeries();

  int64_t limit_;
  std::vector<int> key_columns_;
  bool estimated_ = false;   // since the last Take
  double series_bytes_ = 0;  // a row, by the last estimate
  int64_t bytes_ = 0;
  int64_t rows_ = 0;
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;
  // Of each column the dictionary of the last batch: batches of one source often share it.
  std::vector<const arrow::ArrayData*> dictionaries_;
};

}  // namespace timelake::write

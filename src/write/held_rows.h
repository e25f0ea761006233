#pragma once

#include <cstdint>
#include <memory>
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

// Aligned batches that wait to be sorted, and what they take.
class HeldRows {
 public:
  explicit HeldRows(int64_t limit) : limit_(limit) {}

  void Add(std::shared_ptr<arrow::RecordBatch> batch);
  bool full() const { return bytes_ >= limit_ || rows_ >= kMostRows; }
  bool empty() const { return rows_ == 0; }
  int64_t rows() const { return rows_; }
  std::vector<std::shared_ptr<arrow::RecordBatch>> Take();

  // Rows of `batch`, which is not aligned yet, that fit at once; a batch that fits as a whole is
  // not cut.
  int64_t FittingRows(const arrow::RecordBatch& batch) const;

 private:
  static constexpr int64_t kMostRows = int64_t{1} << 30;

  int64_t limit_;
  int64_t bytes_ = 0;
  int64_t rows_ = 0;
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;
  // Of each column the dictionary of the last batch: batches of one source often share it.
  std::vector<const arrow::ArrayData*> dictionaries_;
};

}  // namespace timelake::write

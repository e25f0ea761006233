#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/error.h"

// Aggregates over runs of rows with equal keys. In a file sorted by series and time all rows of a
// series within a bucket lie together, so one row of partial aggregates stands for many, and no
// hash table is asked for each. Runs are found in one batch at a time: whoever reads the rows
// merges those of equal keys.

namespace timelake::scan {

// The times from `first` to `last`, both included, are in the bucket `start`.
struct TimeBucket {
  int64_t start = 0;
  int64_t first = 0;
  int64_t last = 0;
};

// A column of the batch, or (of a timestamp column, where `bucket` is set) its bucket.
struct RunKey {
  size_t column = 0;
  // The bucket around a time. May throw, which AggregateRuns lets through.
  std::function<TimeBucket(int64_t time)> bucket;
};

enum class RunOp {
  kRows,   // int64: rows, NULL or not; the column means nothing
  kCount,  // int64: values
  kSum,    // double, of doubles; NULL if there is no value
  // int64, of int32 or int64, that cannot overflow; NULL if there is no value: the sums of what is
  // above the lower 32 bits (rounded down) and of those.
  kSumHigh,
  kSumLow,
  kTotal,  // int64, of int64 that cannot overflow; NULL if there is no value
  kMin,  // as the column: a number, date or time; NULL if there is no value. NaN is the greatest.
  kMax,
};

struct RunValue {
  RunOp op = RunOp::kRows;
  size_t column = 0;
};

struct RunAggregates {
  std::vector<RunKey> keys;  // none: one run
  std::vector<RunValue> values;
};

// A row for each run of `batch`, in their order: the keys, then the values. NULL is a key like any
// other, of NaN each is a run; but for NaN, runs next to each other differ. Text keys keep their
// dictionary.
Result<std::shared_ptr<arrow::RecordBatch>> AggregateRuns(const RunAggregates& aggregates,
                                                          const arrow::RecordBatch& batch);

// What puts runs together that batches have parted, of what AggregateRuns makes of the batches, one
// behind the other.
RunAggregates Joining(const RunAggregates& aggregates);

}  // namespace timelake::scan

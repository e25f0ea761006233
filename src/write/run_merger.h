#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/record_batch.h>

#include "write/combine.h"
#include "write/row_compare.h"
#include "write/sort.h"
#include "write/write.h"

namespace timelake::write {

// Merges sorted runs of one partition, earlier arrived ones first, into their order: chunk by chunk
// of rows that nothing still to be read can precede. Equal rows keep the order of their runs; with
// dedup the last of them stays. A chunk is sorted like an append that fits in memory, since what
// comes from a few sorted runs costs such a sort little. Not thread-safe.
class RunMerger {
 public:
  struct Chunk {
    Rows rows;
    Arrangement arrangement;  // of one partition
  };

  // Batches of the runs have the columns of the target's schema, strings dense or as dictionaries.
  // Holds about `memory` bytes of rows, at least a batch a run.
  RunMerger(const Target* target, std::vector<std::shared_ptr<arrow::RecordBatchReader>> runs,
            int64_t memory, int threads);

  // nullopt: the end.
  Result<std::optional<Chunk>> Next();

  // Rows left out so far because a later one replaces them.
  int64_t duplicates() const { return duplicates_; }

 private:
  struct Run {
    std::shared_ptr<arrow::RecordBatchReader> reader;  // null: read to its end
    std::deque<std::shared_ptr<arrow::RecordBatch>> loaded;
    int64_t loaded_bytes = 0;
  };
  // The least of the last loaded rows of runs with more to read.
  struct Bound {
    size_t run = 0;
    std::shared_ptr<arrow::RecordBatch> batch;
    int64_t row = 0;
  };
  using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

  Status Load();
  Result<std::optional<Bound>> FindBound() const;
  Status TakeUpTo(const Bound& bound, size_t run, Batches* taken);
  Result<Batches> TakeReady(bool* last);
  Status HoldBackLast(Chunk* chunk);

  const Target* target_;
  std::vector<OrderColumn> order_;
  std::vector<Run> runs_;
  int64_t memory_;
  int threads_;
  // With dedup, the last row of a chunk: the next one may begin with what replaces it.
  std::shared_ptr<arrow::RecordBatch> held_back_;
  int64_t duplicates_ = 0;
};

}  // namespace timelake::write

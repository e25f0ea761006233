#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <arrow/type_fwd.h>

#include "scan/run_aggregate.h"
#include "scan/scan.h"

namespace timelake::scan {

// Runs that batches have parted, where equal keys lie together in each file and no two files share
// any: the first and the last run of a batch may go on in the one before it and behind it.
// Thread-safe.
class RunEdges {
 public:
  explicit RunEdges(RunAggregates aggregates) : aggregates_(std::move(aggregates)) {}

  // Where a batch comes from: the first row of its morsel, and how many batches of that came
  // before.
  struct Place {
    RowId morsel;
    int64_t batch = 0;

    auto operator<=>(const Place&) const = default;
  };

  // Keeps the first and the last row of what AggregateRuns has made of a batch, and gives the
  // others.
  Result<std::shared_ptr<arrow::RecordBatch>> Keep(Place place,
                                                   const std::shared_ptr<arrow::RecordBatch>& runs);

  // At the end, when nobody keeps more: all that was kept, in one piece, those of one run put
  // together; null if there is nothing, as after that.
  Result<std::shared_ptr<arrow::RecordBatch>> Join();

 private:
  struct Edge {
    Place place;
    std::shared_ptr<arrow::RecordBatch> rows;  // one or two, text in no dictionary
  };

  const RunAggregates aggregates_;
  std::mutex mutex_;
  std::vector<Edge> edges_;
};

}  // namespace timelake::scan

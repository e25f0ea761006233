#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <arrow/record_batch.h>

#include "iceberg/metadata.h"
#include "scan/scan.h"
#include "table/env.h"
#include "write/rolling_files.h"
#include "write/write.h"

namespace timelake::maintain {

// The effect of compaction: the rows of some data files, merged into new ones.

// Rows of files that are in order can be merged as they stream by; else they are sorted, in parts
// that wait in a temporary file if there are too many for memory, or one range of series after the
// other.
enum class MergeWay { kAsItSuits, kStream, kSort, kRanges };

struct MergeRequest {
  std::vector<const scan::ScanFile*> files;  // in the order of writes
  std::vector<iceberg::Value> partition;     // of the target's spec: that of all their rows
  bool sorted = false;                       // each says that it is by the table's order
  MergeWay way = MergeWay::kAsItSuits;
  std::function<bool()> cancelled;  // polled from several threads
};

struct MergedFiles {
  std::vector<write::StoredFile> files;
  int64_t rows = 0;        // in them
  int64_t duplicates = 0;  // replaced by a later row of the same series and time
  int64_t deleted = 0;     // by delete files
  // The newest row of each series, by series key; null for plain tables.
  std::shared_ptr<arrow::RecordBatch> newest;
};

// Delete files are applied; with dedup the last row of each series and time stays, by ingest time
// if there is one, else by the order of the files and of the rows in them. `target` says where the
// files go. Holds about `write-memory-bytes`. On error nothing of
// it is left.
Result<MergedFiles> MergeFiles(const table::Env& env, const iceberg::TableMetadata& metadata,
                               const write::Target& target, const MergeRequest& request);

}  // namespace timelake::maintain

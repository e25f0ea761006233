#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/record_batch.h>

#include "maintain/live_files.h"
#include "table/contract.h"
#include "table/handle.h"
#include "table/snapshot_attempt.h"

namespace timelake::maintain {

// A new file with rows of dropped ones that stay.
struct KeptRows {
  scan::ScanFile file;                         // its place in the order of writes
  std::shared_ptr<arrow::RecordBatch> newest;  // of each series, ordered by series key
};

// Bytes of files that are read for an index.
struct IndexReading {
  int64_t first = 8 << 20;   // of the youngest ones; then twice as much, until all is found
  int64_t most = 256 << 20;  // what lies beyond is not read
};

// The last-value index of snapshot `snapshot_id`, which drops some of `live`'s files, the live
// files of `base`. Series whose newest row may have been in one of them are looked up again in what
// is kept of them and in the other files that may hold a row as old, the youngest first, until no
// other can have a newer one: most often there is none, or the first few have all. nullopt: there
// is no index at `base`, or too much would have to be read; the reason is logged.
Result<std::optional<table::IndexObject>> IndexWithout(
    const table::Handle& handle, const table::Version& base, int64_t snapshot_id,
    const LiveFiles& live, const std::vector<size_t>& dropped, const table::Contract& contract,
    const std::vector<KeptRows>& kept = {}, const IndexReading& reading = {});

}  // namespace timelake::maintain

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

// The last-value index of snapshot `snapshot_id`, which drops some of `live`'s files, the live
// files of `base`. Series whose newest row may have been in one of them are looked up again in what
// is kept of them and in the other files that may hold a row as old: most often there is none.
// nullopt: there is no index at `base`, or too much would have to be read; the reason is logged.
Result<std::optional<table::IndexObject>> IndexWithout(const table::Handle& handle,
                                                       const table::Version& base,
                                                       int64_t snapshot_id, const LiveFiles& live,
                                                       const std::vector<size_t>& dropped,
                                                       const table::Contract& contract,
                                                       const std::vector<KeptRows>& kept = {});

}  // namespace timelake::maintain

#pragma once

#include "table/commit.h"
#include "table/handle.h"
#include "write/write.h"

namespace timelake::maintain {

// Makes a last-value index for a time-series table whose newest version has none that holds, e.g.
// after another engine deleted rows: reads the whole table and commits a "replace" snapshot that
// changes no file. Not beside delete files, which no index outlives.
struct IndexRebuildReport {
  bool rebuilt = false;
  int64_t bytes_left = 0;  // of the files that it would have to read, if more than `max_bytes`
};
// `max_bytes` 0: no limit.
Result<IndexRebuildReport> RunIndexRebuild(table::Handle& handle, const write::Target& target,
                                           int64_t max_bytes, const table::CommitOptions& options);

}  // namespace timelake::maintain

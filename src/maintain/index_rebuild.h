#pragma once

#include "table/commit.h"
#include "table/handle.h"
#include "write/write.h"

namespace timelake::maintain {

// Makes a last-value index for a time-series table whose newest version has none that holds, e.g.
// after another engine deleted rows: reads the whole table and commits a "replace" snapshot that
// changes no file. Not beside delete files, which no index outlives. `committed` is false when
// there is nothing to do.
Result<table::CommitResult> RunIndexRebuild(table::Handle& handle, const write::Target& target,
                                            const table::CommitOptions& options);

}  // namespace timelake::maintain

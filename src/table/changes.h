#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "table/commit.h"
#include "table/settings.h"

namespace timelake::table {

// Commits that add no snapshot.

// Sets or removes properties; names as CheckSetting takes them. Nothing to change: no commit.
Result<CommitResult> CommitProperties(
    Handle& handle, const std::map<std::string, std::optional<std::string>>& changes,
    const CommitOptions& options = {});

// Makes a snapshot that the table holds current again.
Result<CommitResult> CommitRollback(Handle& handle, int64_t snapshot_id,
                                    const CommitOptions& options = {});

// The tombstone: a last version without snapshots.
Result<CommitResult> CommitDrop(Handle& handle, const CommitOptions& options = {});

// Builds the first version of a table from its metadata, e.g. with rows in it; as BuildFn.
using BuildFirstFn = std::function<Result<Attempt>(const iceberg::TableMetadata& metadata,
                                                   const std::set<int64_t>& created)>;

// The first version of a table, or the next one on top of a tombstone. kAlreadyExists. Without
// `build` it has no rows.
Result<CommitResult> CommitCreate(Handle& handle, const iceberg::TableMetadata& metadata,
                                  const CommitOptions& options = {},
                                  const BuildFirstFn& build = {});

}  // namespace timelake::table

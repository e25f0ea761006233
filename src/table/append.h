#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "iceberg/manifest.h"
#include "table/append_columns.h"
#include "table/commit.h"
#include "table/contract.h"
#include "table/snapshot_attempt.h"

namespace timelake::table {

struct AppendRequest {
  std::vector<iceberg::DataFile> files;  // already stored, all of `spec_id`
  std::vector<std::string> data_keys;    // their keys, not yet synced
  int spec_id = 0;
  std::optional<WrittenColumns> columns;       // absent: the table comes with these rows
  bool match_columns = true;                   // on every attempt; simulations switch it off
  std::string batch_id;                        // empty: none
  std::map<std::string, std::string> summary;  // extra keys
  // Called on each base; an error ends the commit. May be empty.
  std::function<Status(const Version& base)> check;
  IndexFn index;                // may be empty: no index
  int64_t started_boot_us = 0;  // before the first data file was written
};

struct AppendOutcome {
  // The rows have to be written anew for the columns that the table has now (FitColumns): nothing
  // was committed, and the data files are still there, for the caller to read and delete.
  bool columns_moved = false;
  std::vector<std::string> added_columns;
  CommitResult commit;
  bool duplicate = false;
  int64_t duplicate_rows = 0;
  int64_t duplicate_snapshot = 0;
};

// Commits data files, or none, as one append snapshot, and in the same commit the columns that they
// add. On a duplicate and on every error but kCommitUnknown the data files are deleted.
Result<AppendOutcome> CommitAppend(Handle& handle, const AppendRequest& request,
                                   const CommitOptions& options = {});

// The same as the first version of a table with this metadata (CommitCreate). kAlreadyExists.
Result<AppendOutcome> CommitCreateWithRows(Handle& handle, const iceberg::TableMetadata& metadata,
                                           const AppendRequest& request,
                                           const CommitOptions& options = {});

}  // namespace timelake::table

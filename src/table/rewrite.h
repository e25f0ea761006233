#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "iceberg/manifest.h"
#include "table/commit.h"
#include "table/snapshot_attempt.h"

namespace timelake::table {

// Commits that take files out of a table: compaction, retention, deletes.

// Simulations switch these off to show what each prevents; elsewhere all are on.
struct RewriteChecks {
  bool there = true;         // a file that goes must be there
  bool merged = true;        // the inputs of a merge are looked at again on every attempt
  bool deleted_from = true;  // and the files that a delete rewrites,
  bool watched = true;       // and those that decide which of their rows count
  bool each = true;          // retention is planned by what the table says on every attempt
};

struct RewrittenFile {
  iceberg::DataFile file;  // already stored
  int spec_id = 0;
  // The data sequence number that its entry carries (specification, "Sequence Numbers"); nullopt:
  // the snapshot's own. Its file sequence number is always the snapshot's own.
  std::optional<int64_t> sequence_number;
};

struct Rewrite {
  std::string operation;          // of the snapshot: "replace" or "delete"
  std::set<std::string> removed;  // data and delete files, spelled as in their manifests
  std::vector<RewrittenFile> added;
  std::vector<std::string> added_keys;         // of `added`, not yet synced
  std::map<std::string, std::string> summary;  // extra keys
  IndexFn index;                               // may be empty: no index
  int64_t started_boot_us = 0;                 // before the first of `added` was written
  RewriteChecks checks;
};

// What snapshot `snapshot_id` is to do on top of `base`; nullopt: nothing. Called again after every
// lost race, so what it returns must be right for that base. Of new files it may leave out, but
// never add, what it returned before.
using RewriteFn =
    std::function<Result<std::optional<Rewrite>>(const Version& base, int64_t snapshot_id)>;

// Commits it as one snapshot. Manifests that name a removed file are written anew; what goes stands
// in them as deleted. Errors as Commit; kConflict also when a removed file is not there.
Result<CommitResult> CommitRewrite(Handle& handle, const RewriteFn& plan,
                                   const CommitOptions& options = {});

}  // namespace timelake::table

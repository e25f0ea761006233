#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "iceberg/metadata.h"
#include "store/object_store.h"
#include "table/handle.h"

namespace timelake::table {

// One try at a commit: the metadata of the next version and what must be stored before it.
struct Attempt {
  iceberg::TableMetadata metadata;
  std::vector<store::PutRequest> objects;  // of this attempt alone: manifest list, index, ...
  std::vector<std::string> sync_too;       // written earlier by this call and not yet synced
  std::optional<int64_t> snapshot_id;      // the snapshot that it adds
  std::function<void()> on_success;        // e.g. remember decoded objects; may be empty
};

// The builder found that nothing needs committing.
struct Settled {
  enum class Why { kNothingToDo, kDuplicate, kOwnSnapshot, kColumnsMoved } why = Why::kNothingToDo;
  int64_t snapshot_id = 0;  // that holds the rows, for kDuplicate and kOwnSnapshot
  int64_t rows = 0;
};

using BuildResult = std::variant<Attempt, Settled>;

// Builds an attempt on top of `base`. `created`: snapshots of this call's earlier attempts. Called
// again after every lost race, so it must be repeatable.
using BuildFn =
    std::function<Result<BuildResult>(const Version& base, const std::set<int64_t>& created)>;

struct CommitOptions {
  int64_t time_budget_us = 60'000'000;
  int min_attempts = 10;
  bool on_tombstone = false;  // create: the rules about tombstones and table-uuids do not apply
  std::function<bool()> cancelled;
};

struct CommitResult {
  Version version;  // that acknowledges the commit; the base when settled
  int attempts = 0;
  bool committed = false;
  std::optional<Settled> settled;
  std::optional<int64_t> snapshot_id;
};

// The commit loop (docs/commit-protocol.md, "Committing"). kCommitUnknown: the commit may be in
// the table and nothing was deleted. Any other error: it is not, the attempts' own objects were
// deleted, and the caller deletes what it wrote itself.
Result<CommitResult> Commit(Handle& handle, const BuildFn& build,
                            const CommitOptions& options = {});

// Makes the first version of a table whose folder holds none (nothing was listed at
// `listed_boot_us`). kAlreadyExists: somebody else did. Errors as above.
Result<CommitResult> CommitFirst(Handle& handle, Attempt attempt, int64_t listed_boot_us,
                                 const CommitOptions& options = {});

}  // namespace timelake::table

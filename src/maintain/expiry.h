#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "table/commit.h"
#include "table/handle.h"
#include "table/settings.h"

namespace timelake::maintain {

// Snapshot expiry: which snapshots a table keeps, as a pure plan and a commit that carries it out.
// Nothing is deleted here: files go when the versions that name them are freed (free_versions.h).

struct ExpiryPlan {
  std::set<int64_t> keep;
  std::vector<int64_t> expire;  // oldest first
};

// Kept: heads of branches and tags; everything younger than `snapshot-retention`; at least
// `min-snapshots` and at most `max-snapshots` ancestors of the head (the cap expires
// younger ones, too); everything while `keep-snapshots-until` is in the future. `metadata` is not
// changed.
ExpiryPlan PlanExpiry(const iceberg::TableMetadata& metadata, const table::Settings& settings,
                      int64_t now_ms);

// Commits the plan made on the newest version; batch ids of what expires are folded into the log.
// `committed` is false when nothing is due.
Result<table::CommitResult> RunExpiry(table::Handle& handle,
                                      const table::CommitOptions& options = {});

}  // namespace timelake::maintain

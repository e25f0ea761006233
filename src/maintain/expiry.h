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
  std::vector<int64_t> expire;  // in the order of the metadata
  std::set<std::string> drop_refs;
};

// Iceberg specification, "Snapshot Retention Policy". Kept: the snapshots of branches and tags, but
// for refs other than main whose snapshot is older than their `max-ref-age-ms`, which go; of each
// branch the newest `min-snapshots-to-keep` and all younger than `max-snapshot-age-ms`, by what the
// ref says, else main by `min-snapshots` and `snapshot-retention`, others one and by
// `snapshot-retention`; what belongs to no branch while it is younger than that. Of main's at most
// `max-snapshots` stay (the cap expires younger ones, too). While `keep-snapshots-until` is in the
// future everything stays. `metadata` is not changed.
ExpiryPlan PlanExpiry(const iceberg::TableMetadata& metadata, const table::Settings& settings,
                      int64_t now_ms);

// Whether so many snapshots are due that an append may take the time to expire them.
inline constexpr int64_t kExpiryBatch = 20;

// Commits the plan made on the newest version; batch ids of what expires are folded into the log.
// `committed` is false when nothing is due.
Result<table::CommitResult> RunExpiry(table::Handle& handle,
                                      const table::CommitOptions& options = {});

}  // namespace timelake::maintain

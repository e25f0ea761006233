#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "table/commit.h"
#include "table/handle.h"
#include "table/rewrite.h"
#include "write/write.h"

namespace timelake::maintain {

// Retention: partitions that ended more than `retention` ago are dropped (docs/maintenance.md).

struct DroppedPartition {
  std::string partition;  // "time_day=2026-01-03"; empty: unpartitioned
  int64_t files = 0;
  int64_t bytes = 0;
  int64_t rows = 0;
};

struct RetentionReport {
  std::vector<DroppedPartition> partitions;  // that were dropped, or would be
  int64_t files = 0;
  int64_t rows = 0;
  int64_t bytes = 0;
  int64_t held_back = 0;  // files that stay for a while, see RetentionPlan
};

struct RetentionOptions {
  bool dry_run = false;  // only the report, of the version that is known to be the newest
  table::CommitOptions commit;
  std::map<std::string, std::string> summary = {};  // extra keys of the snapshot
  table::RewriteChecks checks = {};
};

// Commits one "delete" snapshot, planned anew on each attempt by the retention that the table has
// then; none if nothing is past or the table has no retention. The last-value index follows:
// series that lose their newest row are looked up in the files that are left.
Status RunRetention(table::Handle& handle, const write::Target& target,
                    const RetentionOptions& options, RetentionReport* report);

}  // namespace timelake::maintain

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "maintain/live_files.h"
#include "maintain/shard.h"
#include "table/commit.h"
#include "table/handle.h"
#include "write/write.h"

namespace timelake::maintain {

// Compaction: small, unsorted and overlapping data files become few sorted ones
// (docs/maintenance.md).

struct CompactionOptions {
  bool full = false;  // every partition as a whole
  // After an append: many files of one size are merged, and partitions that are cold; see
  // CompactionRules. 0: all that the plan finds.
  int64_t tier_files = 0;
  int64_t cold_after_us = 0;         // with tier_files; table::kNeverCold: no partition is cold
  std::optional<TimeWindow> window;  // nothing beyond it is looked at
  bool dry_run = false;              // only the plan
  Shard shard;                       // whose partitions are merged
  int64_t max_bytes = 0;             // of input files; 0: no limit
  int64_t deadline_boot_us = 0;      // no group is begun after it; 0: none
  table::CommitOptions commit;
  std::function<bool()> cancelled;
};

// One group of the plan, for people.
struct PlannedMerge {
  std::string partition;  // "time_day=2026-01-03"; empty: unpartitioned
  std::string reason;
  int64_t files = 0;
  int64_t bytes = 0;
  int64_t rows = 0;
};

struct CompactionReport {
  std::vector<PlannedMerge> planned;
  int64_t partitions = 0;  // in which something was rewritten
  int64_t files_rewritten = 0;
  int64_t files_written = 0;
  int64_t rows_rewritten = 0;
  int64_t bytes_rewritten = 0;  // of the inputs
  int64_t bytes_written = 0;
  int64_t duplicates_removed = 0;
  int64_t rows_deleted = 0;  // that delete files had marked
  int64_t delete_files_removed = 0;
  int64_t groups_abandoned = 0;  // another writer changed what they rest on
  int64_t groups_left = 0;       // by max_bytes, the deadline, or blocked by other files
  int64_t bytes_left = 0;
  int64_t commits = 0;
};

// Plans on `base`, merges, and commits what was merged as "replace" snapshots of about a gigabyte.
// Before each commit the plan is checked against the newest version: a group whose inputs are gone,
// that would come out of order, or that a delete file has hit since is abandoned, its new files are
// deleted. kCommitUnknown: nothing was deleted. After another error what was merged before it is
// committed, then it is returned.
Status RunCompaction(table::Handle& handle, const table::Version& base, const write::Target& target,
                     const CompactionOptions& options, CompactionReport* report);

}  // namespace timelake::maintain

#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "table/handle.h"

namespace timelake::maintain {

// Orphans: objects below a table's folders that no version refers to, left by writers that were
// interrupted (docs/maintenance.md).

struct OrphanOptions {
  int64_t min_age_us = 0;
  bool dry_run = false;
  std::function<bool()> cancelled;
  std::function<bool()> enough;  // asked now and then whether to leave the rest for the next run
};

// The duration text of an age from which on objects are orphans. kInvalidArgument: no duration, or
// below a day, in which a writer may still be at work, without `force`.
Result<int64_t> ParseOrphanAge(const std::string& text, bool force);

struct OrphanReport {
  int64_t objects = 0;  // that were deleted, or would be
  int64_t bytes = 0;
  int64_t young = 0;  // as OrphanPlan has it
};

// Lists first, then reads all versions that are there; whatever cannot be listed or read is an
// error, and nothing is deleted.
Status RunOrphans(table::Handle& handle, const OrphanOptions& options, OrphanReport* report);

}  // namespace timelake::maintain

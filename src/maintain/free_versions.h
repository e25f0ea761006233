#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "table/handle.h"
#include "table/versions.h"

namespace timelake::maintain {

// Freeing versions (docs/commit-protocol.md): deletes old metadata files, one at a time and in
// ascending order, each after the files that only it names. Old metadata files are the memory of
// what is still to be deleted, so an interrupted run is simply run again.

struct FreePlan {
  struct Step {
    int64_t number = 0;
    bool dead_fork = false;  // below the real chain: only its metadata file goes
  };
  std::vector<Step> steps;  // ascending
};

// What may be freed of a listing, pure: the real chain is the unbroken run of versions down from
// the newest whose store times do not decrease upwards; vK of it goes when v(K+1) has been there
// for `age_us` and K is below the hint (nullopt: no limit). Dead forks go after the age.
FreePlan PlanFree(const table::VersionListing& listing, std::optional<int64_t> hint, int64_t age_us,
                  const table::Rules& rules);

struct FreeReport {
  int64_t versions = 0;
  int64_t objects = 0;  // other than metadata files
};

// Loads the newest version (a tombstone is fine), repairs the hint, plans and deletes.
// `max_versions` 0: all. `enough`: asked after each version whether to leave the rest for the next
// run; may be empty.
Result<FreeReport> RunFree(table::Handle& handle, int64_t max_versions = 0,
                           const std::function<bool()>& enough = {});

}  // namespace timelake::maintain

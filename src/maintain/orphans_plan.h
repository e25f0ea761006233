#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "store/object_store.h"

namespace timelake::maintain {

// Which objects of a table's folders are orphans: pure.

// Ages below this take an order of their own: an append may be that long on its way.
inline constexpr int64_t kLeastOrphanAgeUs = int64_t{24} * 3600 * 1'000'000;

struct OrphanRules {
  std::string folder;   // of the table, without a slash at its end
  int64_t date_us = 0;  // of the listing, by the store's clock
  int64_t min_age_us = 0;
  // Whether the versions that were there after the listing refer to an object, by key or by name.
  std::function<bool(const std::string& key)> in_use;
};

struct OrphanPlan {
  std::vector<std::string> keys;
  std::vector<int64_t> sizes;  // of each
  int64_t bytes = 0;
  // Not in use, but too young to be told from what writers are about to commit.
  int64_t young = 0;
};

// Orphans lie below the table's data/ and metadata/ and are at least `min_age_us` old. Metadata
// files, hints and hidden files (".name", "_name") are none, whatever refers to them: expiry frees
// versions.
OrphanPlan PlanOrphans(const std::vector<store::ObjectInfo>& listed, const OrphanRules& rules);

}  // namespace timelake::maintain

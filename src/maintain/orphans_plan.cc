#include "maintain/orphans_plan.h"

#include <string_view>

namespace timelake::maintain {
namespace {

bool IsSpared(std::string_view name) {
  return name.empty() || name.front() == '.' || name.front() == '_' ||
         name.find(".metadata.json") != std::string_view::npos || name.starts_with("version-hint");
}

// Whether the object lies where tables have their files.
bool IsBelow(std::string_view key, std::string_view folder) {
  if (!key.starts_with(folder)) return false;
  const std::string_view rest = key.substr(folder.size());
  return rest.starts_with("/data/") || rest.starts_with("/metadata/");
}

}  // namespace

OrphanPlan PlanOrphans(const std::vector<store::ObjectInfo>& listed, const OrphanRules& rules) {
  OrphanPlan plan;
  for (const store::ObjectInfo& object : listed) {
    const std::string_view name = std::string_view(object.key).substr(object.key.rfind('/') + 1);
    if (!IsBelow(object.key, rules.folder) || IsSpared(name) || rules.in_use(object.key)) continue;
    int64_t age = 0;
    if (__builtin_sub_overflow(rules.date_us, object.mtime_us, &age) || age < rules.min_age_us) {
      ++plan.young;
      continue;
    }
    plan.keys.push_back(object.key);
    plan.sizes.push_back(object.size);
    plan.bytes += object.size;
  }
  return plan;
}

}  // namespace timelake::maintain

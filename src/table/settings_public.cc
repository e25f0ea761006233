#include "table/settings_values.h"
#include "timelake/lake.h"

namespace timelake {

std::vector<SettingInfo> AllSettings() {
  std::vector<SettingInfo> all;
  for (const table::SettingDef& def : table::Registry()) {
    all.push_back({std::string(def.name), std::string(def.default_value),
                   table::LevelNames(def.levels), table::AcceptedText(def),
                   std::string(def.description)});
  }
  return all;
}

}  // namespace timelake

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "table/handle.h"
#include "table/settings.h"

namespace timelake::api {

struct RollupsDone {
  int64_t refreshed = 0;
  int64_t rows = 0;                 // that they got
  std::vector<std::string> behind;  // that would be refreshed, when only looking
};

// Refreshes the rollups of a table, and theirs. A refresh that another one was faster than is none.
struct RollupRun {
  bool only_due = false;  // by the setting rollup-refresh-interval
  bool dry_run = false;
  int64_t max_bytes = 0;  // of files that one of them reads; 0: no limit
  std::function<bool()> cancelled;
};
Status RefreshRollupsOf(table::Handle& source, const table::SettingMap& session,
                        const RollupRun& run, RollupsDone* done);

}  // namespace timelake::api

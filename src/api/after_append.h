#pragma once

#include "table/handle.h"
#include "table/settings.h"
#include "timelake/options.h"
#include "write/write.h"

namespace timelake::api {

// Maintenance after an append that was committed (setting auto-maintain): merges small files around
// the times that it wrote, every `compact-min-files` commits. What it did, or why it failed, is
// noted in `result`: the append has succeeded whatever happens here.
void MaintainAfter(table::Handle& handle, const write::Target& target,
                   const write::Written& written, const table::Version& version,
                   const AppendOptions& options, AppendResult* result);

// Refreshes the table's rollups that are due (setting rollup-refresh-interval); likewise.
void RefreshAfter(table::Handle& handle, const table::SettingMap& session,
                  const table::Settings& settings, const AppendOptions& options,
                  AppendResult* result);

}  // namespace timelake::api

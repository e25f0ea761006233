#pragma once

#include "table/commit.h"
#include "table/handle.h"
#include "table/rewrite_manifests.h"

namespace timelake::maintain {

// Clusters manifests by time where it pays (manifests_plan.h), so that planning a query opens few
// of them. One "replace" snapshot, planned anew on each attempt; the last-value index is carried
// on. `dry_run`: only the report, of the version that is known to be the newest.
Status RunManifests(table::Handle& handle, bool dry_run, const table::CommitOptions& options,
                    table::ManifestReport* report);

}  // namespace timelake::maintain

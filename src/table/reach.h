#pragma once

#include <set>
#include <string>
#include <vector>

#include "iceberg/metadata.h"
#include "table/env.h"

namespace timelake::table {

// What metadata names, as store keys, by what has to be read to find it. Whoever deletes takes the
// files first, then the manifests, then the rest: what an interrupted run leaves can still be
// found.
struct Reach {
  std::set<std::string> files;      // named by manifests: live data and delete files
  std::set<std::string> manifests;  // named by manifest lists
  std::set<std::string> others;     // named by the metadata: manifest lists, indexes, batch-id log
};

// Of one snapshot. Strict: a missing list or manifest is an error naming it. Not strict (for
// snapshots that are about to go): what is already gone is skipped.
enum class Reading { kStrict, kSkipMissing };
Status AddReach(const Env& env, const iceberg::Snapshot& snapshot, Reading reading, Reach* reach);

// Of a version: all its snapshots, the batch-id log, statistics files.
Result<Reach> ReachOf(const Env& env, const iceberg::TableMetadata& metadata, Reading reading);

}  // namespace timelake::table

#pragma once

#include <set>
#include <string>
#include <vector>

#include "iceberg/metadata.h"
#include "table/env.h"

namespace timelake::table {

// What metadata names, as store keys.

// Of one snapshot: its manifest list, manifests, files of live entries (data and deletes) and index.
// Strict: a missing list or manifest is an error naming it. Not strict (for snapshots that are about to
// go): what is already gone is skipped.
enum class Reading { kStrict, kSkipMissing };
Status AddReach(const Env& env, const iceberg::Snapshot& snapshot, Reading reading,
                std::set<std::string>* keys);

// Of a version: all its snapshots, the batch-id log, statistics files.
Result<std::set<std::string>> ReachOf(const Env& env, const iceberg::TableMetadata& metadata,
                                      Reading reading);

// Data and delete files of all snapshots; what is already gone is skipped.
Result<std::set<std::string>> DataFilesOf(const Env& env, const iceberg::TableMetadata& metadata);

}  // namespace timelake::table

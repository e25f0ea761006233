#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "table/handle.h"
#include "table/manifests.h"

namespace timelake::table {

struct MergedManifests {
  ManifestRows rows;
  std::vector<store::PutRequest> objects;  // the merged manifests
};

// Which manifests are merged into one each, by their places in the list: pure. Beyond eight small
// ones (below `target_bytes`) of one spec and content the newest are, up to one that has many times
// the files of all that follow it; never across specs or contents. A merged one is of the target
// size, roughly, at most. Every count of `rows` is known. In list order within a merge.
std::vector<std::vector<size_t>> PlanManifestMerges(const ManifestRows& rows, int64_t target_bytes);

// Merges those, with `commit.manifest.target-size-bytes`, before a commit that adds one more.
// Deleted entries are dropped; added ones become existing with snapshot id and both sequence
// numbers explicit. Rows without a live file go. A merged manifest has the place of its oldest.
Result<MergedManifests> MergeSmallManifests(const Handle& handle,
                                            const iceberg::TableMetadata& metadata,
                                            ManifestRows rows, int64_t snapshot_id,
                                            int64_t sequence_number);

}  // namespace timelake::table

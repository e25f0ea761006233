#pragma once

#include <vector>

#include "table/handle.h"
#include "table/manifests.h"

namespace timelake::table {

struct MergedManifests {
  ManifestRows rows;
  std::vector<store::PutRequest> objects;  // the merged manifests
};

// Beyond eight small manifests (below `commit.manifest.target-size-bytes`) of one spec and content
// an append merges those; never across specs or contents. Deleted entries are dropped; added ones
// become existing with snapshot id and both sequence numbers explicit. Rows without a live file go.
Result<MergedManifests> MergeSmallManifests(const Handle& handle,
                                            const iceberg::TableMetadata& metadata,
                                            ManifestRows rows, int64_t snapshot_id,
                                            int64_t sequence_number);

}  // namespace timelake::table

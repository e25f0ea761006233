#pragma once

#include "iceberg/metadata.h"
#include "table/manifests.h"

namespace timelake::maintain {

// Whether a manifest list tells of a partition that ended at or before `cutoff_us`, so that it pays
// to look for what retention drops: pure. Partition specs without time say nothing.
bool RetentionDue(const table::ManifestRows& rows, const iceberg::TableMetadata& metadata,
                  int time_id, int64_t cutoff_us);

}  // namespace timelake::maintain

#pragma once

#include <vector>

#include "base/error.h"
#include "iceberg/manifest.h"
#include "iceberg/metadata.h"

namespace timelake::iceberg {

// What must hold of any metadata that we put (docs/commit-protocol.md). Each returns kCorrupt (the
// message names the rule and the offending ids), checked before every put and in the simulation.

// Within one file: current ids exist, snapshot ids unique and positive, main points at the current
// snapshot, sequence numbers not above last_sequence_number, field ids not above last_column_id,
// refs point at kept snapshots, unique log order, `location` without trailing slash.
Status CheckMetadata(const TableMetadata& metadata);

// `next` may follow `base`: same table uuid (unless base is a tombstone), last_sequence_number and
// last_updated_ms do not go back, new snapshots have base's head as parent and last_sequence_number
// + 1, snapshots of both are the same (but for their manifest lists where the location changes), no
// schema/spec/order that base refers to is lost, columns of a new schema keep their ids and types
// or have ids that none had, a commit without a new snapshot has a new `timelake.commit-id`. A new
// table on a tombstone (another uuid) owes it only the order of last_updated_ms.
Status CheckSuccession(const TableMetadata& base, const TableMetadata& next);

// Rows of a manifest list against their snapshot: sequence numbers, counts not negative, min <=
// sequence number.
Status CheckManifestList(const Snapshot& snapshot, const std::vector<ManifestFile>& rows);

}  // namespace timelake::iceberg

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "iceberg/metadata.h"
#include "table/handle.h"

namespace timelake::table {

// Pure steps from one version's metadata to the next.

// A copy of `base` that may follow it: metadata log extended by the base's file and cut to
// `write.metadata.previous-versions-max`, last-updated-ms never going back (a writer whose clock is
// behind keeps the base's), an old commit id removed.
iceberg::TableMetadata Following(const Handle& handle, const Version& base);

// Adds `snapshot` and makes it current on branch main.
void AddSnapshot(iceberg::TableMetadata* metadata, iceberg::Snapshot snapshot);

// Points branch main at a snapshot that the metadata holds.
void MakeCurrent(iceberg::TableMetadata* metadata, int64_t snapshot_id, int64_t timestamp_ms);

// A fresh `timelake.commit-id`: the mark of a commit that adds no snapshot.
void StampCommit(const Env& env, iceberg::TableMetadata* metadata);

// What one snapshot changes, for its summary.
struct Change {
  std::string operation;
  int64_t added_files = 0, added_records = 0, added_bytes = 0;
  int64_t deleted_files = 0, deleted_records = 0;
  int64_t removed_delete_files = 0, removed_position_deletes = 0, removed_equality_deletes = 0;
  int64_t removed_bytes = 0;  // of data and delete files
  int64_t changed_partitions = 0;
};

// Summary with Iceberg's added-, deleted- and total- keys. Totals are carried on from the parent;
// where the parent lacks one, it is left out rather than started at zero.
std::map<std::string, std::string> Summarize(const iceberg::Snapshot* parent, const Change& change);

}  // namespace timelake::table

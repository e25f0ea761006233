#pragma once

#include <optional>
#include <vector>

#include "scan/scan.h"

namespace timelake::scan {

// What makes two rows one (commit protocol, "Order of writes").
struct DedupKey {
  std::vector<int> key_ids;
  int time_id = 0;
  std::optional<int> ingest_time_id;
  // The table has dedup on: an append of this format left one row of each series and time.
  bool appends_are_unique = true;
};

// Dedup on read: fills in ScanFile::superseded of the plan's files. A row is superseded by another
// of the same series key and time that comes later in the order (ingest time if there is one, data
// sequence number, file path, position) and is not deleted. Files whose keys or times cannot
// overlap with another's are not looked into; what was found once of two files is cached, as both
// never change. Of rows that fail the predicate's tests of the key nothing is said. `plan` is of
// `predicate`.
Status MarkSuperseded(const table::Env& env, const iceberg::TableMetadata& metadata,
                      const iceberg::Snapshot* snapshot, const DedupKey& key,
                      const Predicate& predicate, Plan* plan);

}  // namespace timelake::scan

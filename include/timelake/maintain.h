#pragma once

#include <cstdint>
#include <functional>

#include <arrow/result.h>

#include "timelake/table.h"

namespace timelake {

struct MaintainOptions {
  bool expire = true;  // snapshots by the table's settings, then what no version needs any more
  std::function<bool()> cancelled;  // polled between steps
};

struct MaintainReport {
  int64_t snapshots_expired = 0;
  int64_t versions_freed = 0;
  int64_t objects_deleted = 0;  // metadata files of freed versions and all that only they named
  double seconds = 0;
};

// Keeps a table small: so far snapshot expiry and the freeing of old versions; compaction and
// retention come here, too. Safe beside any number of writers and readers.
arrow::Result<MaintainReport> Maintain(Table& table, const MaintainOptions& options = {});

}  // namespace timelake

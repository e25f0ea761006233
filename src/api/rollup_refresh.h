#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "table/catalog.h"

namespace timelake::api {

struct RefreshOptions {
  bool full = false;      // every bucket, whatever has changed
  int64_t max_bytes = 0;  // of data files that are read; 0: no limit
  std::function<bool()> cancelled;
};

struct RefreshReport {
  int64_t rows = 0;     // written
  int64_t removed = 0;  // whose groups are empty by now
  int64_t ranges = 0;   // of time, that were computed anew
  int64_t left = 0;     // that max_bytes left for the next run
  bool changed = false;
};

// Brings a rollup up to the newest snapshot of its source: computes the buckets anew that rows came
// to or went from since the snapshot that it records, and commits them with where it has got to in
// one snapshot. Nothing new: no commit. Another refresh that was faster: kConflict, and nothing is
// committed. kInvalidArgument: the table is no rollup.
Result<RefreshReport> RefreshRollup(table::Catalog& catalog, const std::string& name,
                                    const RefreshOptions& options = {});

}  // namespace timelake::api

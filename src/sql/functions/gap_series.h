#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sql/functions/bucket_grid.h"

// The buckets that time_bucket_gapfill adds, free of DuckDB. All times are finite.

namespace timelake::sql {

// Which buckets a result should have: those from `first` to `last`, where known. Nothing is between
// them if `empty`.
struct GapRange {
  std::optional<int64_t> first, last;
  bool empty = false;
};

// The buckets of the instants from `from` to `to`, both included. An end outside of the range of
// bucket starts counts as unknown.
GapRange MakeGapRange(BucketGrid* grid, std::optional<int64_t> from, std::optional<int64_t> to);

// A row of a group, in order of its bucket.
struct GapRow {
  std::optional<int64_t> bucket;          // nothing: the row that stands for a group without rows
  std::optional<int64_t> previous, next;  // the buckets of the rows around it
};

// Many buckets may be missing, so they are made in two steps: bands of at most kGapBand buckets,
// each known by its first one, then the buckets of one band.
inline constexpr int64_t kGapBand = 1024;
inline constexpr int64_t kMaxGap = 100'000'000;

// The bands of the missing buckets that belong to a row: those before it if it is the first one,
// and those up to the next one. False if they are more than kMaxGap buckets.
bool AppendGapBands(BucketGrid* grid, const GapRange& range, const GapRow& row,
                    std::vector<int64_t>* bands);

void AppendGapBuckets(BucketGrid* grid, const GapRange& range, const GapRow& row, int64_t band,
                      std::vector<int64_t>* buckets);

}  // namespace timelake::sql

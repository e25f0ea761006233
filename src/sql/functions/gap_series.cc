#include "sql/functions/gap_series.h"

#include <algorithm>
#include <limits>

namespace timelake::sql {

namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// Buckets from `begin` on, below `end` and up to range.last: calls `visit` with each, which says
// whether to go on.
template <typename Visit>
void Walk(BucketGrid* grid, const GapRange& range, int64_t begin, int64_t end, const Visit& visit) {
  for (int64_t bucket = begin; bucket < end && bucket <= range.last.value_or(kMax);) {
    if (!visit(bucket) || !grid->Next(bucket, &bucket)) return;
  }
}

bool AppendBands(BucketGrid* grid, const GapRange& range, int64_t begin, int64_t end,
                 std::vector<int64_t>* bands) {
  int64_t count = 0;
  Walk(grid, range, begin, end, [&](int64_t bucket) {
    if (count % kGapBand == 0) bands->push_back(bucket);
    return ++count <= kMaxGap;
  });
  return count <= kMaxGap;
}

}  // namespace

GapRange MakeGapRange(BucketGrid* grid, std::optional<int64_t> from, std::optional<int64_t> to) {
  GapRange range;
  int64_t bucket = 0;
  if (from && grid->Floor(*from, &bucket)) range.first = bucket;
  if (to && grid->Floor(*to, &bucket)) range.last = bucket;
  range.empty = from && to && *from > *to;
  return range;
}

bool AppendGapBands(BucketGrid* grid, const GapRange& range, const GapRow& row,
                    std::vector<int64_t>* bands) {
  if (range.empty) return true;
  if (!row.bucket) {
    if (row.previous || !range.first || !range.last) return true;
    return AppendBands(grid, range, *range.first, kMax, bands);
  }
  if (!row.previous && range.first && !AppendBands(grid, range, *range.first, *row.bucket, bands)) {
    return false;
  }
  int64_t begin = 0;
  if ((!row.next && !range.last) || !grid->Next(*row.bucket, &begin)) return true;
  return AppendBands(grid, range, std::max(begin, range.first.value_or(begin)),
                     row.next.value_or(kMax), bands);
}

void AppendGapBuckets(BucketGrid* grid, const GapRange& range, const GapRow& row, int64_t band,
                      std::vector<int64_t>* buckets) {
  const int64_t end = row.bucket && band < *row.bucket ? *row.bucket : row.next.value_or(kMax);
  int64_t count = 0;
  Walk(grid, range, band, end, [&](int64_t bucket) {
    buckets->push_back(bucket);
    return ++count < kGapBand;
  });
}

}  // namespace timelake::sql

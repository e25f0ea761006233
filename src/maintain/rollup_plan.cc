#include "maintain/rollup_plan.h"

#include <algorithm>
#include <limits>

namespace timelake::maintain {
namespace {

using table::TimeRange;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

bool Starts(const TimeRange& a, const TimeRange& b) { return a.first < b.first; }

std::vector<TimeRange> Merged(std::vector<TimeRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), Starts);
  std::vector<TimeRange> merged;
  for (const TimeRange& range : ranges) {
    if (range.first >= range.end) continue;
    if (!merged.empty() && range.first <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

int64_t FloorOr(int64_t time, const BucketEdges& edges) {
  int64_t start = 0;
  return edges.floor(time, &start) ? start : kLowest;
}

int64_t NextOr(int64_t start, const BucketEdges& edges) {
  int64_t next = 0;
  return edges.next(start, &next) ? next : kHighest;
}

}  // namespace

std::vector<TimeRange> TouchedBuckets(const std::vector<Span>& spans, const BucketEdges& edges) {
  std::vector<TimeRange> ranges;
  for (const Span& span : spans) {
    int64_t last = 0;
    const bool known = edges.floor(span.last, &last);
    ranges.push_back({FloorOr(span.first, edges), known ? NextOr(last, edges) : kHighest});
  }
  return Merged(std::move(ranges));
}

std::vector<TimeRange> Unite(std::vector<TimeRange> a, const std::vector<TimeRange>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return Merged(std::move(a));
}

std::vector<TimeRange> Without(const std::vector<TimeRange>& ranges,
                               const std::vector<TimeRange>& others) {
  std::vector<TimeRange> left;
  for (TimeRange range : ranges) {
    for (const TimeRange& other : others) {
      if (other.end <= range.first) continue;
      if (other.first >= range.end) break;
      if (other.first > range.first) left.push_back({range.first, other.first});
      range.first = std::min(other.end, range.end);
    }
    if (range.first < range.end) left.push_back(range);
  }
  return left;
}

std::vector<TimeRange> From(const std::vector<TimeRange>& ranges, int64_t floor_us) {
  if (floor_us == kLowest) return ranges;
  return Without(ranges, {{kLowest, floor_us}});
}

int64_t CeilBucket(int64_t time, const BucketEdges& edges) {
  int64_t start = 0;
  if (!edges.floor(time, &start)) return time;
  return start == time ? time : NextOr(start, edges);
}

Share ShareOf(const std::vector<TimeRange>& all, std::vector<Span> files, int64_t max_bytes,
              const BucketEdges& edges, int64_t cursor) {
  Share share;
  if (max_bytes <= 0) {
    share.now = all;
    return share;
  }
  auto ranges = From(all, cursor);
  if (ranges.empty()) ranges = all;
  std::sort(files.begin(), files.end(),
            [](const Span& a, const Span& b) { return a.first < b.first; });
  int64_t read = 0;
  bool full = false;
  int64_t taken_up_to = kLowest;
  for (const TimeRange& range : ranges) {
    int64_t cut = full ? range.first : range.end;
    for (const Span& file : files) {
      if (full || file.last < range.first || file.first >= range.end) continue;
      read += file.bytes;
      // A cut through files would have them read twice.
      const int64_t before = std::max(CeilBucket(file.first, edges), range.first);
      full = read > max_bytes && file.first > taken_up_to && before > ranges[0].first;
      if (full) cut = std::min(before, range.end);
      taken_up_to = std::max(taken_up_to, file.last);
    }
    share.now.push_back({range.first, cut});
    share.later.push_back({cut, range.end});
  }
  share.now = Merged(std::move(share.now));
  share.later = Merged(std::move(share.later));
  const auto before = Without(all, ranges);
  share.later.insert(share.later.end(), before.begin(), before.end());
  return share;
}

std::vector<std::vector<TimeRange>> SlicesOf(const std::vector<TimeRange>& ranges,
                                             std::vector<Span> files, int64_t rows,
                                             const BucketEdges& edges) {
  std::sort(files.begin(), files.end(),
            [](const Span& a, const Span& b) { return a.first < b.first; });
  std::vector<int64_t> cuts;
  int64_t read = 0, taken_up_to = kLowest;
  for (const Span& file : files) {
    if (read > 0 && read + file.rows > rows && file.first > taken_up_to) {
      cuts.push_back(CeilBucket(file.first, edges));
      read = 0;
    }
    read += file.rows;
    taken_up_to = std::max(taken_up_to, file.last);
  }
  cuts.push_back(kHighest);
  std::vector<std::vector<TimeRange>> slices;
  size_t cut = 0;
  std::vector<TimeRange> slice;
  const auto finish = [&] {
    if (!slice.empty()) slices.push_back(std::move(slice));
    slice.clear();
  };
  for (TimeRange range : ranges) {
    while (cuts[cut] < range.end) {
      if (range.first < cuts[cut]) slice.push_back({range.first, cuts[cut]});
      range.first = std::max(range.first, cuts[cut]);
      finish();
      ++cut;
    }
    slice.push_back(range);
  }
  finish();
  if (slices.empty()) slices.emplace_back();
  return slices;
}

}  // namespace timelake::maintain

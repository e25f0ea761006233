#include "sql/rollup/remainder.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "maintain/rollup_changes.h"
#include "maintain/rollup_plan.h"
#include "scan/key_range.h"

namespace timelake::sql {

namespace {

using table::TimeRange;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

// About how many rows of a table lie in these ranges: files by their share of them. `hull`: times
// of the files.
Result<double> RowsIn(const TableVersion& table, const std::vector<TimeRange>& ranges,
                      TimeRange* hull = nullptr) {
  if (ranges.empty()) return 0.0;
  scan::KeyColumns columns;
  columns.time = iceberg::FindFieldById(*table.schema, *table.contract.time_id);
  const auto within =
      maintain::Within(*table.contract.time_id, {ranges.front().first, ranges.back().end});
  TL_ASSIGN_OR_RAISE(const auto files,
                     scan::ListFiles(table.env, *table.metadata, table.snapshot, within));
  double rows = 0;
  for (const auto& file : files) {
    const scan::KeyRange range = scan::KeyRangeOf(*file, nullptr, columns);
    if (hull) *hull = {std::min(hull->first, range.first), std::max(hull->end, range.last)};
    const double length = static_cast<double>(range.last) - static_cast<double>(range.first) + 1;
    double inside = 0;
    for (const TimeRange& wanted : ranges) {
      const double first = static_cast<double>(std::max(range.first, wanted.first));
      const double end =
          std::min(static_cast<double>(range.last) + 1, static_cast<double>(wanted.end));
      inside += std::max(end - first, 0.0);
    }
    rows += static_cast<double>(file->record_count) * std::min(inside / length, 1.0);
  }
  return rows;
}

}  // namespace

Result<std::optional<Split>> SplitTimes(const TableVersion& source, const TableVersion& rollup,
                                        BucketGrid grid, TimeRange times) {
  if (!source.snapshot || !rollup.snapshot) return std::nullopt;
  const auto position = table::ReadPosition(*rollup.metadata);
  if (!position) return std::nullopt;
  TL_ASSIGN_OR_RAISE(const auto changes, maintain::ReadSourceChanges(source.env, *source.metadata,
                                                                     source.contract, *position));
  if (!changes.known) return std::nullopt;
  const auto shared = std::make_shared<BucketGrid>(std::move(grid));
  const maintain::BucketEdges edges = {
      [shared](int64_t time, int64_t* start) { return shared->Floor(time, start); },
      [shared](int64_t start, int64_t* next) { return shared->Next(start, next); }};
  int64_t floor = std::max(position->floor_us, changes.floor_us);
  // Also where whoever refreshed it last, or dropped rows, has not noted it.
  for (const TableVersion* table : {&source, &rollup}) {
    int64_t kept = 0;
    if (table->contract.retention_us &&
        !__builtin_sub_overflow(table->env.clock->NowMicros(), *table->contract.retention_us,
                                &kept)) {
      floor = std::max(floor, kept);
    }
  }
  TimeRange whole = times;
  whole.first = std::max(whole.first, floor);
  if (whole.first != kLowest) whole.first = maintain::CeilBucket(whole.first, edges);
  if (whole.end != kHighest && !edges.floor(whole.end, &whole.end)) return std::nullopt;
  if (whole.first >= whole.end) return std::nullopt;
  const auto behind =
      maintain::Unite(maintain::TouchedBuckets(changes.touched, edges), position->todo);
  Split split;
  split.rollup = maintain::Without({whole}, behind);
  if (split.rollup.empty()) return std::nullopt;
  split.source = maintain::Without({times}, split.rollup);
  split.kept = {kHighest, kLowest};
  TL_ASSIGN_OR_RAISE(const double of_rollup, RowsIn(rollup, split.rollup, &split.kept));
  TL_ASSIGN_OR_RAISE(const double of_source, RowsIn(source, split.source));
  TL_ASSIGN_OR_RAISE(split.source_cost, RowsIn(source, {times}));
  split.cost = of_rollup + of_source;
  return split;
}

bool RefinesWithin(BucketGrid fine, BucketGrid coarse, const std::vector<TimeRange>& ranges,
                   TimeRange kept) {
  constexpr int kMostEdges = 20'000;
  int edges = 0;
  for (const TimeRange& range : ranges) {
    const int64_t first = std::max(range.first, kept.first);
    int64_t end = std::min(range.end - 1, kept.end);
    if (first > end) continue;
    if (!fine.Floor(end, &end) || !fine.Next(end, &end)) return false;
    int64_t edge = 0, start = 0;
    if (!coarse.Floor(first, &edge)) return false;
    while (coarse.Next(edge, &edge) && edge < end) {
      if (!fine.Floor(edge, &start) || start != edge || ++edges > kMostEdges) return false;
    }
  }
  return true;
}

}  // namespace timelake::sql

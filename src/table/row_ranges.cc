#include "table/row_ranges.h"

#include <algorithm>

namespace timelake::table {

int64_t CountRows(const RowRanges& ranges) {
  int64_t rows = 0;
  for (const RowRange& range : ranges) rows += range.end - range.begin;
  return rows;
}

void Append(RowRange range, RowRanges* ranges) {
  if (range.begin >= range.end) return;
  if (!ranges->empty() && ranges->back().end == range.begin) {
    ranges->back().end = range.end;
  } else {
    ranges->push_back(range);
  }
}

RowRanges Intersection(const RowRanges& a, const RowRanges& b) {
  RowRanges common;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    Append({std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)}, &common);
    if (a[i].end < b[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return common;
}

bool Overlaps(const RowRanges& ranges, RowRange range) {
  const auto first =
      std::upper_bound(ranges.begin(), ranges.end(), range.begin,
                       [](int64_t row, const RowRange& candidate) { return row < candidate.end; });
  return first != ranges.end() && first->begin < range.end;
}

}  // namespace timelake::table

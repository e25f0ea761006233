#pragma once

#include <cstdint>
#include <vector>

namespace timelake::table {

// Rows [begin, end) of one row group.
struct RowRange {
  int64_t begin = 0;
  int64_t end = 0;

  bool operator==(const RowRange&) const = default;
};

// Ascending, apart from each other, none empty.
using RowRanges = std::vector<RowRange>;

int64_t CountRows(const RowRanges& ranges);

// Appends a range that begins at or behind the last one's end; joins it to that if they touch.
void Append(RowRange range, RowRanges* ranges);

RowRanges Intersection(const RowRanges& a, const RowRanges& b);

// Whether the two have a row in common.
bool Overlaps(const RowRanges& ranges, RowRange range);

}  // namespace timelake::table

#include "table/row_ranges.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

namespace timelake::table {
namespace {

std::set<int64_t> Rows(const RowRanges& ranges) {
  std::set<int64_t> rows;
  for (const RowRange& range : ranges) {
    for (int64_t row = range.begin; row < range.end; ++row) rows.insert(row);
  }
  return rows;
}

RowRanges Ranges(const std::set<int64_t>& rows) {
  RowRanges ranges;
  for (const int64_t row : rows) Append({row, row + 1}, &ranges);
  return ranges;
}

TEST(RowRanges, TouchingOnesAreJoined) {
  RowRanges ranges;
  Append({0, 0}, &ranges);
  EXPECT_TRUE(ranges.empty());
  Append({0, 5}, &ranges);
  Append({5, 7}, &ranges);
  Append({9, 10}, &ranges);
  EXPECT_EQ(ranges, (RowRanges{{0, 7}, {9, 10}}));
  EXPECT_EQ(CountRows(ranges), 8);
}

TEST(RowRanges, AgreeWithSets) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 500; ++round) {
    std::set<int64_t> a, b;
    for (int64_t row = 0; row < 40; ++row) {
      if (random() % 3 == 0) a.insert(row);
      if (random() % 2 == 0) b.insert(row);
    }
    std::set<int64_t> both;
    for (const int64_t row : a) {
      if (b.contains(row)) both.insert(row);
    }
    EXPECT_EQ(Rows(Intersection(Ranges(a), Ranges(b))), both);
    EXPECT_EQ(Intersection(Ranges(a), Ranges(b)), Ranges(both));
    const auto begin = static_cast<int64_t>(random() % 40);
    const auto end = begin + 1 + static_cast<int64_t>(random() % 5);
    bool any = false;
    for (int64_t row = begin; row < end; ++row) any = any || a.contains(row);
    EXPECT_EQ(Overlaps(Ranges(a), {begin, end}), any);
  }
}

}  // namespace
}  // namespace timelake::table

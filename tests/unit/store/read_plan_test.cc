#include "store/read_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace timelake::store {
namespace {

using Ranges = std::vector<ByteRange>;

TEST(PlanRequests, MergesWhatIsNearAndCutsWhatIsLong) {
  EXPECT_EQ(PlanRequests({}, 10, 100), Ranges{});
  EXPECT_EQ(PlanRequests({{5, 0}, {7, -1}}, 10, 100), Ranges{});
  EXPECT_EQ(PlanRequests({{20, 5}, {0, 10}}, 10, 100), (Ranges{{0, 25}}));
  EXPECT_EQ(PlanRequests({{21, 5}, {0, 10}}, 10, 100), (Ranges{{0, 10}, {21, 5}}));
  EXPECT_EQ(PlanRequests({{0, 10}, {2, 3}, {10, 1}}, 0, 100), (Ranges{{0, 11}}));
  EXPECT_EQ(PlanRequests({{0, 250}}, 0, 100), (Ranges{{0, 84}, {84, 84}, {168, 82}}));
}

// Whatever is asked for: each wanted byte comes exactly once, no request is too long, and no byte
// comes that lies in a gap longer than allowed.
TEST(PlanRequests, HoldsForAnyRanges) {
  std::mt19937_64 random(17);
  const auto below = [&](int64_t bound) { return static_cast<int64_t>(random() % bound); };
  for (int round = 0; round < 5000; ++round) {
    const int64_t gap = below(3) == 0 ? 0 : below(20), most = 1 + below(60);
    constexpr int64_t kSize = 300;
    std::vector<bool> wanted(kSize + 1, false);
    Ranges ranges(static_cast<size_t>(below(12)));
    for (ByteRange& range : ranges) {
      range.offset = below(kSize);
      range.length = std::min(below(40), kSize - range.offset);
      for (int64_t i = range.offset; i < range.end(); ++i) wanted[static_cast<size_t>(i)] = true;
    }
    const Ranges requests = PlanRequests(ranges, gap, most);
    std::vector<int> times(kSize + 1, 0);
    int64_t end = 0;
    for (const ByteRange& request : requests) {
      ASSERT_GT(request.length, 0);
      ASSERT_LE(request.length, most);
      ASSERT_GE(request.offset, end);
      end = request.end();
      for (int64_t i = request.offset; i < end; ++i) ++times[static_cast<size_t>(i)];
    }
    ASSERT_LE(end, kSize);
    for (int64_t i = 0; i < kSize; ++i) {
      if (wanted[static_cast<size_t>(i)]) {
        ASSERT_EQ(times[static_cast<size_t>(i)], 1) << i;
      }
    }
    // Unwanted bytes that come lie between two wanted ones at most `gap` apart; wanted ones that
    // are so near never come with two requests, unless one would be too long.
    int64_t last = -1;
    for (int64_t i = 0; i < kSize; ++i) {
      if (!wanted[static_cast<size_t>(i)]) continue;
      const int64_t hole = last < 0 ? 0 : i - last - 1;
      for (int64_t j = last + 1; last >= 0 && j < i; ++j) {
        ASSERT_EQ(times[static_cast<size_t>(j)], hole <= gap ? 1 : 0) << j;
      }
      if (last < 0) {
        for (int64_t j = 0; j < i; ++j) ASSERT_EQ(times[static_cast<size_t>(j)], 0);
      }
      last = i;
    }
  }
}

TEST(TailOf, IsNeverMoreThanTheFile) {
  for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{1} << 20, (int64_t{1} << 20) + 1,
                             int64_t{1} << 28, int64_t{1} << 40}) {
    EXPECT_LE(TailOf(size), size);
    EXPECT_GE(TailOf(size), std::min<int64_t>(size, 64 << 10));
  }
  EXPECT_EQ(TailOf(1 << 20), 1 << 20);  // small files come whole
}

}  // namespace
}  // namespace timelake::store

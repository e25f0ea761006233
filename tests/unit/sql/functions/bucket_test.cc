#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/civil_time.h"
#include "sql/functions/bucket_grid.h"
#include "sql/functions/bucket_width.h"
#include "sql/functions/zone_clock.h"

namespace timelake::sql {
namespace {

int64_t At(const std::string& text) { return ParseTimestamp(text).ValueOrDie().micros; }

TEST(BucketWidth, TextOfEveryKind) {
  const auto micros = [](int64_t n) { return BucketWidth{0, n}; };
  const auto months = [](int64_t n) { return BucketWidth{n, 0}; };
  EXPECT_EQ(*ParseBucketWidth("15m"), micros(15 * kMicrosPerMinute));
  EXPECT_EQ(*ParseBucketWidth(" 15 min "), micros(15 * kMicrosPerMinute));
  EXPECT_EQ(*ParseBucketWidth("1h30m"), micros(90 * kMicrosPerMinute));
  EXPECT_EQ(*ParseBucketWidth("1 hour 30 Minutes"), micros(90 * kMicrosPerMinute));
  EXPECT_EQ(*ParseBucketWidth("250us"), micros(250));
  EXPECT_EQ(*ParseBucketWidth("5ms"), micros(5000));
  EXPECT_EQ(*ParseBucketWidth("1d"), micros(kMicrosPerDay));
  EXPECT_EQ(*ParseBucketWidth("1D"), micros(kMicrosPerDay));
  EXPECT_EQ(*ParseBucketWidth("2 weeks"), micros(14 * kMicrosPerDay));
  EXPECT_EQ(*ParseBucketWidth("1mo"), months(1));
  EXPECT_EQ(*ParseBucketWidth("3 months"), months(3));
  EXPECT_EQ(*ParseBucketWidth("1q"), months(3));
  EXPECT_EQ(*ParseBucketWidth("1y6mo"), months(18));
  for (const char* bad : {"", "m", "15", "soon", "-1h", "0m", "1M", "1.5h", "1mo 1d", "5 parsecs",
                          "99999999999999999999s", "9223372036854775807h", "300000000y"}) {
    const auto width = ParseBucketWidth(bad);
    ASSERT_FALSE(width.ok()) << bad;
    EXPECT_EQ(KindOf(width.status()), ErrorKind::kInvalidArgument);
    EXPECT_NE(width.status().message().find("such as 15m"), std::string::npos) << width.status();
  }
}

TEST(BucketWidth, Intervals) {
  EXPECT_EQ(*MakeBucketWidth(0, 1, 5), (BucketWidth{0, kMicrosPerDay + 5}));
  EXPECT_EQ(*MakeBucketWidth(2, 0, 0), (BucketWidth{2, 0}));
  EXPECT_FALSE(MakeBucketWidth(1, 1, 0).ok());
  EXPECT_FALSE(MakeBucketWidth(0, -1, 0).ok());
  EXPECT_FALSE(MakeBucketWidth(0, 0, 0).ok());
  EXPECT_FALSE(MakeBucketWidth(0, INT32_MAX, 0).ok());
}

// Central European time by its rule: +1 h, and +2 h from the last Sunday of March, 01:00 UTC, to
// the last Sunday of October, 01:00 UTC. Written out for 2024.
std::shared_ptr<ZoneClock> Paris2024() {
  static const int64_t kSpring = At("2024-03-31T01:00:00Z"), kAutumn = At("2024-10-27T01:00:00Z");
  return std::make_shared<ZoneClock>([](const std::vector<int64_t>& instants, int64_t* offsets) {
    for (size_t i = 0; i < instants.size(); ++i) {
      const bool summer = instants[i] >= kSpring && instants[i] < kAutumn;
      offsets[i] = (summer ? 2 : 1) * kMicrosPerHour;
    }
  });
}

TEST(ZoneClock, FindsTheInstantOfAChange) {
  const auto clock = Paris2024();
  const int64_t spring = At("2024-03-31T01:00:00Z");
  EXPECT_EQ(clock->At(spring - 1).offset, kMicrosPerHour);
  EXPECT_EQ(clock->At(spring - 1).end, spring);
  EXPECT_EQ(clock->At(spring).offset, 2 * kMicrosPerHour);
  EXPECT_EQ(clock->At(spring).begin, spring);
  for (const int64_t end :
       {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max() - 1}) {
    EXPECT_EQ(clock->At(end).offset, kMicrosPerHour);
    EXPECT_LE(clock->At(end).begin, end);
    EXPECT_GT(clock->At(end).end, end);
  }
}

BucketGrid ParisGrid(const char* width) {
  BucketGrid::Options options;
  options.width = ParseBucketWidth(width).ValueOrDie();
  options.zone = Paris2024();
  return BucketGrid::Make(options).ValueOrDie();
}

std::string FloorText(BucketGrid grid, const char* time) {
  int64_t bucket = 0;
  return grid.Floor(At(time), &bucket) ? FormatTimestamp(bucket) : "out of range";
}

TEST(BucketGrid, FollowsTheClockOfTheZone) {
  // Six hours by the clock, summer and winter.
  EXPECT_EQ(FloorText(ParisGrid("6h"), "2024-07-01T05:00:00Z"), "2024-07-01T04:00:00Z");
  EXPECT_EQ(FloorText(ParisGrid("6h"), "2024-01-15T05:30:00Z"), "2024-01-15T05:00:00Z");
  // The clock is set back from 3 to 2 at 01:00Z: both hours "02" are buckets of their own,
  EXPECT_EQ(FloorText(ParisGrid("1h"), "2024-10-27T00:30:00Z"), "2024-10-27T00:00:00Z");
  EXPECT_EQ(FloorText(ParisGrid("1h"), "2024-10-27T01:30:00Z"), "2024-10-27T01:00:00Z");
  // wider buckets are longer by an hour.
  EXPECT_EQ(FloorText(ParisGrid("2h"), "2024-10-27T02:30:00Z"), "2024-10-27T00:00:00Z");
  EXPECT_EQ(FloorText(ParisGrid("1d"), "2024-10-27T22:59:59Z"), "2024-10-26T22:00:00Z");
  // The clock skips from 2 to 3 at 01:00Z: the bucket of "02" and "03" starts at the change.
  EXPECT_EQ(FloorText(ParisGrid("2h"), "2024-03-31T01:10:00Z"), "2024-03-31T01:00:00Z");
  EXPECT_EQ(FloorText(ParisGrid("2h"), "2024-03-31T00:59:59Z"), "2024-03-30T23:00:00Z");
  EXPECT_EQ(FloorText(ParisGrid("1mo"), "2024-04-30T21:59:59Z"), "2024-03-31T22:00:00Z");
  EXPECT_EQ(FloorText(ParisGrid("1y"), "2024-06-30T00:00:00Z"), "2023-12-31T23:00:00Z");
}

// Next gives exactly the buckets that Floor gives for a dense series of times.
TEST(BucketGrid, NextVisitsEveryBucketOnce) {
  for (const char* width : {"15m", "20m", "1h", "90m", "2h", "6h", "7h", "1d", "1w", "1mo", "1y"}) {
    BucketGrid grid = ParisGrid(width);
    int64_t current = 0;
    ASSERT_TRUE(grid.Floor(At("2024-03-01T00:00:00Z"), &current));
    for (int64_t time = At("2024-03-01T00:00:00Z"); time < At("2024-12-01T00:00:00Z");
         time += kMicrosPerMinute) {
      int64_t bucket = 0;
      ASSERT_TRUE(grid.Floor(time, &bucket));
      if (bucket == current) continue;
      int64_t next = 0;
      ASSERT_TRUE(grid.Next(current, &next));
      ASSERT_EQ(FormatTimestamp(next), FormatTimestamp(bucket)) << width;
      current = bucket;
    }
  }
}

TEST(BucketGrid, NextWithoutAZone) {
  BucketGrid::Options options;
  options.width = {0, 7 * kMicrosPerHour};
  auto hours = BucketGrid::Make(options).ValueOrDie();
  int64_t next = 0;
  ASSERT_TRUE(hours.Next(At("2000-01-03T00:00:00Z"), &next));
  EXPECT_EQ(FormatTimestamp(next), "2000-01-03T07:00:00Z");
  options.width = {1, 0};
  options.shift_micros = 5 * kMicrosPerDay;
  auto months = BucketGrid::Make(options).ValueOrDie();
  ASSERT_TRUE(months.Next(At("2024-01-06T00:00:00Z"), &next));
  EXPECT_EQ(FormatTimestamp(next), "2024-02-06T00:00:00Z");
  EXPECT_EQ(FloorText(months, "2024-02-05T23:59:59.999999Z"), "2024-01-06T00:00:00Z");
}

TEST(BucketGrid, TheEndsOfInt64) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  std::mt19937_64 random(11);
  for (const char* width : {"1us", "7h", "1d", "1mo", "1000y", "106751991d"}) {
    for (const bool zoned : {false, true}) {
      for (const int64_t shift : {int64_t{0}, kMicrosPerDay, kMin, kMax}) {
        BucketGrid::Options options;
        options.width = ParseBucketWidth(width).ValueOrDie();
        options.shift_micros = shift;
        if (zoned) options.zone = Paris2024();
        auto grid = BucketGrid::Make(options).ValueOrDie();
        for (int i = 0; i < 200; ++i) {
          const auto edge = static_cast<int64_t>(random() >> (1 + random() % 40));
          const int64_t time = random() % 2 ? kMin + edge : kMax - edge;
          int64_t bucket = 0, next = 0;
          if (!grid.Floor(time, &bucket)) continue;
          ASSERT_LE(bucket, time);
          if (grid.Next(bucket, &next)) {
            ASSERT_GT(next, time);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace timelake::sql

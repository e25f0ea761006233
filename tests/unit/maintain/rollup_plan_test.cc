#include "maintain/rollup_plan.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace timelake::table {

void PrintTo(const TimeRange& range, std::ostream* out) {
  *out << "[" << range.first << ", " << range.end << ")";
}

}  // namespace timelake::table

namespace timelake::maintain {
namespace {

using table::TimeRange;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

// Buckets of ten.
BucketEdges Tens() {
  return {[](int64_t time, int64_t* start) {
            if (time < kLowest + 20) return false;
            *start = time - (time % 10 + 10) % 10;
            return true;
          },
          [](int64_t start, int64_t* next) {
            if (start > kHighest - 20) return false;
            *next = start + 10;
            return true;
          }};
}

TEST(RollupPlan, SpansTouchWholeBuckets) {
  EXPECT_THAT(TouchedBuckets({{5, 5}, {12, 19}, {40, 40}, {-1, -1}}, Tens()),
              ElementsAre(TimeRange{-10, 20}, TimeRange{40, 50}));
  EXPECT_THAT(TouchedBuckets({{0, 9}}, Tens()), ElementsAre(TimeRange{0, 10}));
  EXPECT_THAT(TouchedBuckets({{0, 10}}, Tens()), ElementsAre(TimeRange{0, 20}));
  EXPECT_THAT(TouchedBuckets({}, Tens()), IsEmpty());
  EXPECT_THAT(TouchedBuckets({{kLowest, kHighest}}, Tens()),
              ElementsAre(TimeRange{kLowest, kHighest}));
}

TEST(RollupPlan, RangesAreUnitedAndTakenAway) {
  EXPECT_THAT(Unite({{0, 10}, {30, 40}}, {{10, 20}, {35, 50}}),
              ElementsAre(TimeRange{0, 20}, TimeRange{30, 50}));
  EXPECT_THAT(Without({{0, 100}}, {{-5, 5}, {10, 20}, {90, 200}}),
              ElementsAre(TimeRange{5, 10}, TimeRange{20, 90}));
  EXPECT_THAT(Without({{0, 10}, {20, 30}}, {{5, 25}}),
              ElementsAre(TimeRange{0, 5}, TimeRange{25, 30}));
  EXPECT_THAT(Without({{0, 10}}, {}), ElementsAre(TimeRange{0, 10}));
  EXPECT_THAT(Without({{0, 10}}, {{0, 10}}), IsEmpty());
  EXPECT_THAT(Without({{kLowest, kHighest}}, {{0, 10}}),
              ElementsAre(TimeRange{kLowest, 0}, TimeRange{10, kHighest}));
  EXPECT_THAT(From({{0, 10}, {20, 40}}, 30), ElementsAre(TimeRange{30, 40}));
  EXPECT_THAT(From({{0, 10}}, kLowest), ElementsAre(TimeRange{0, 10}));
}

TEST(RollupPlan, TheNextBucketFromATime) {
  EXPECT_EQ(CeilBucket(0, Tens()), 0);
  EXPECT_EQ(CeilBucket(1, Tens()), 10);
  EXPECT_EQ(CeilBucket(-1, Tens()), 0);
}

TEST(RollupPlan, ALimitOfBytesPartsRangesBetweenFiles) {
  const std::vector<Span> files = {{0, 9, 100}, {10, 19, 100}, {20, 29, 100}, {30, 39, 100}};
  const auto all = ShareOf({{0, 40}}, files, 0, Tens());
  EXPECT_THAT(all.now, ElementsAre(TimeRange{0, 40}));
  EXPECT_THAT(all.later, IsEmpty());

  const auto half = ShareOf({{0, 40}}, files, 200, Tens());
  EXPECT_THAT(half.now, ElementsAre(TimeRange{0, 20}));
  EXPECT_THAT(half.later, ElementsAre(TimeRange{20, 40}));

  // The first files are taken however large they are.
  const auto least = ShareOf({{0, 40}}, files, 1, Tens());
  EXPECT_THAT(least.now, ElementsAre(TimeRange{0, 10}));
  EXPECT_THAT(least.later, ElementsAre(TimeRange{10, 40}));

  const auto two = ShareOf({{0, 10}, {20, 40}}, files, 150, Tens());
  EXPECT_THAT(two.now, ElementsAre(TimeRange{0, 10}));
  EXPECT_THAT(two.later, ElementsAre(TimeRange{20, 40}));

  const auto everything = ShareOf({{kLowest, kHighest}}, files, 250, Tens());
  EXPECT_THAT(everything.now, ElementsAre(TimeRange{kLowest, 20}));
  EXPECT_THAT(everything.later, ElementsAre(TimeRange{20, kHighest}));
}

TEST(RollupPlan, WhatIsTouchedAgainDoesNotKeepTheRestWaiting) {
  const std::vector<Span> files = {{0, 9, 100}, {10, 19, 100}, {20, 29, 100}, {30, 39, 100}};
  const auto share = ShareOf({{0, 10}, {20, 40}}, files, 1, Tens(), 20);
  EXPECT_THAT(share.now, ElementsAre(TimeRange{20, 30}));
  EXPECT_THAT(share.later, ElementsAre(TimeRange{30, 40}, TimeRange{0, 10}));
  const auto next = ShareOf({{0, 10}, {30, 40}}, files, 1, Tens(), 30);
  EXPECT_THAT(next.now, ElementsAre(TimeRange{30, 40}));
  EXPECT_THAT(next.later, ElementsAre(TimeRange{0, 10}));
  EXPECT_THAT(ShareOf({{0, 10}}, files, 1, Tens(), 30).now, ElementsAre(TimeRange{0, 10}));
}

TEST(RollupPlan, SlicesArePartedBetweenFiles) {
  const std::vector<Span> files = {{0, 9, 0, 5}, {10, 25, 0, 5}, {22, 29, 0, 5}, {33, 39, 0, 5}};
  EXPECT_THAT(SlicesOf({{kLowest, kHighest}}, files, 5, Tens()),
              ElementsAre(ElementsAre(TimeRange{kLowest, 10}), ElementsAre(TimeRange{10, 40}),
                          ElementsAre(TimeRange{40, kHighest})));
  EXPECT_THAT(SlicesOf({{0, 10}, {30, 50}}, files, 5, Tens()),
              ElementsAre(ElementsAre(TimeRange{0, 10}), ElementsAre(TimeRange{30, 40}),
                          ElementsAre(TimeRange{40, 50})));
  EXPECT_THAT(SlicesOf({{0, 10}, {20, 30}}, files, 100, Tens()),
              ElementsAre(ElementsAre(TimeRange{0, 10}, TimeRange{20, 30})));
  EXPECT_THAT(SlicesOf({{0, 10}}, {}, 5, Tens()), ElementsAre(ElementsAre(TimeRange{0, 10})));
}

TEST(RollupPlan, FilesThatOverlapAreNotParted) {
  const std::vector<Span> files = {{0, 25, 100}, {10, 35, 100}, {40, 49, 100}};
  const auto share = ShareOf({{0, 50}}, files, 100, Tens());
  EXPECT_THAT(share.now, ElementsAre(TimeRange{0, 40}));
  EXPECT_THAT(share.later, ElementsAre(TimeRange{40, 50}));
}

}  // namespace
}  // namespace timelake::maintain

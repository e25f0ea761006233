#include "sql/functions/points.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace timelake::sql {
namespace {

using Real = Point<double>;
using Whole = Point<int64_t>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Points, TheGreatestValueOfATimeStays) {
  std::vector<Real> points = {{2, 1}, {1, 5}, {2, kNan}, {1, -0.0}, {1, 0.0}, {3, 0.0}, {3, -0.0}};
  KeepOnePerTime(&points);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0], (Real{1, 5}));
  EXPECT_TRUE(std::isnan(points[1].value));
  EXPECT_FALSE(std::signbit(points[2].value));
}

// Cut anywhere, the parts of a curve have its mean.
TEST(Points, TimeWeightedMeanOfStretchesIsThatOfTheirPoints) {
  const std::vector<Real> points = {{-7, 3}, {0, 5}, {2, -1}, {50, 8}, {51, 8.5}, {90, 2}};
  for (const auto method : {Interpolation::kLocf, Interpolation::kLinear}) {
    for (size_t cuts = 0; cuts < 32; ++cuts) {
      std::vector<Stretch> stretches;
      for (size_t begin = 0, i = 0; i < points.size(); ++i) {
        if (i + 1 < points.size() && !(cuts >> i & 1)) continue;
        const std::span<const Real> part(points.data() + begin, i + 1 - begin);
        stretches.insert(stretches.begin(),
                         {part.front().time, part.back().time, part.front().value,
                          part.back().value, TimeWeightedMean(part, method)});
        begin = i + 1;
      }
      EXPECT_NEAR(TimeWeightedMean(&stretches, method).value(), TimeWeightedMean(points, method),
                  1e-14)
          << cuts;
    }
  }
}

TEST(Points, StretchesThatOverlapHaveNoMean) {
  std::vector<Stretch> stretches = {{0, 10, 1, 1, 1}, {10, 20, 1, 1, 1}};
  EXPECT_FALSE(TimeWeightedMean(&stretches, Interpolation::kLocf));
  stretches = {{5, 5, 1, 1, 1}, {5, 5, 1, 1, 1}};
  EXPECT_FALSE(TimeWeightedMean(&stretches, Interpolation::kLocf));
}

TEST(Points, StretchesAtTheEndOfTheRangeHaveAFiniteMean) {
  const double most = std::numeric_limits<double>::max();
  std::vector<Stretch> stretches = {{0, 1'000'000, most, most, most},
                                    {2'000'000, 2'000'000, 0, 0, 0}};
  EXPECT_DOUBLE_EQ(TimeWeightedMean(&stretches, Interpolation::kLocf).value(), most);
  const double infinite = std::numeric_limits<double>::infinity();
  stretches = {{0, 0, infinite, infinite, infinite}, {5, 5, 1, 1, 1}};
  EXPECT_EQ(TimeWeightedMean(&stretches, Interpolation::kLocf).value(), infinite);
}

TEST(Points, TimeWeightedMeanIsExactWhereItCanBe) {
  EXPECT_EQ(TimeWeightedMean(std::vector<Real>{{7, 3}}, Interpolation::kLocf), 3);
  // A constant stays what it is, whatever the gaps.
  std::mt19937_64 random(3);
  std::vector<Real> constant;
  for (int64_t time = 0, i = 0; i < 10000; ++i) {
    constant.push_back({time += 1 + static_cast<int64_t>(random() % 1000000), 21});
  }
  EXPECT_EQ(TimeWeightedMean(constant, Interpolation::kLocf), 21);
  EXPECT_EQ(TimeWeightedMean(constant, Interpolation::kLinear), 21);
  // The whole range of times, and of values.
  EXPECT_EQ(TimeWeightedMean(std::vector<Real>{{kMin, 1}, {kMax, 9}}, Interpolation::kLocf), 1);
  EXPECT_EQ(TimeWeightedMean(std::vector<Real>{{kMin, 1}, {kMax, 9}}, Interpolation::kLinear), 5);
  const double max = std::numeric_limits<double>::max();
  EXPECT_EQ(
      TimeWeightedMean(std::vector<Real>{{0, max}, {10, max}, {20, max}}, Interpolation::kLinear),
      max);
  EXPECT_EQ(
      TimeWeightedMean(std::vector<Real>{{0, max}, {10, -max}, {20, 0}}, Interpolation::kLocf), 0);
  EXPECT_EQ(
      TimeWeightedMean(std::vector<Real>{{0, INFINITY}, {1, 1}, {2, 1}}, Interpolation::kLocf),
      INFINITY);
  EXPECT_EQ(TimeWeightedMean(std::vector<Real>{{0, 1}, {1, kNan}}, Interpolation::kLocf), 1);
  EXPECT_TRUE(
      std::isnan(TimeWeightedMean(std::vector<Real>{{0, 1}, {1, kNan}}, Interpolation::kLinear)));
}

template <typename V>
std::optional<V> Increase(const std::vector<Point<V>>& points) {
  CounterSteps<V> steps;
  for (const auto& point : points) steps.Add(point);
  return steps.Increase();
}

TEST(Points, IncreaseAndDeltaNeverWrap) {
  EXPECT_EQ(*Increase(std::vector<Whole>{{0, 5}, {1, 9}, {2, 3}, {3, 4}}), 8);
  EXPECT_EQ(*Increase(std::vector<Whole>{{0, 9'007'199'254'740'993}, {1, 9'007'199'254'740'994}}),
            1);
  EXPECT_FALSE(Increase(std::vector<Whole>{{0, kMin}, {1, kMax}}));
  EXPECT_FALSE(Increase(std::vector<Whole>{{0, 0}, {1, kMax}, {2, 1}, {3, 2}}));
  EXPECT_EQ(*Delta(Whole{0, kMax}, Whole{1, 0}), -kMax);
  EXPECT_FALSE(Delta(Whole{0, kMax}, Whole{1, -2}));
  // Many small steps on a large value.
  std::vector<Real> counter;
  for (int i = 0; i < 1000; ++i) counter.push_back({i, 1e15 + i * 0.5});
  EXPECT_EQ(*Increase(counter), 499.5);
  EXPECT_EQ(SecondsBetween(kMin, kMax), std::ldexp(1, 64) / 1e6);
}

// Whatever is added or merged first, the result is the same.
TEST(Points, M4DoesNotDependOnTheOrder) {
  std::mt19937_64 random(5);
  for (int run = 0; run < 500; ++run) {
    std::vector<Real> points;
    for (uint64_t i = 1 + random() % 30; i > 0; --i) {
      points.push_back({static_cast<int64_t>(random() % 8), static_cast<double>(random() % 5) - 2});
    }
    M4 whole;
    for (const Real& point : points) whole.Add(point);
    std::shuffle(points.begin(), points.end(), random);
    M4 parts[3], merged;
    for (const Real& point : points) parts[random() % 3].Add(point);
    for (const M4& part : parts) merged.Merge(part);
    Real a[4], b[4];
    const int n = whole.Points(a);
    ASSERT_EQ(n, merged.Points(b));
    for (int i = 0; i < n; ++i) ASSERT_EQ(a[i], b[i]);
  }
}

}  // namespace
}  // namespace timelake::sql

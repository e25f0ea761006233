#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

// Arithmetic on the readings of one series, free of DuckDB. Times are microseconds.

namespace timelake::sql {

template <typename V>
struct Point {
  int64_t time = 0;
  V value{};

  bool operator==(const Point&) const = default;
};

// A total order: NaN is the greatest value, -0.0 is before 0.0.
template <typename V>
bool ValueLess(V a, V b) {
  if constexpr (std::is_floating_point_v<V>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
    if (a == b) return std::signbit(a) && !std::signbit(b);
  }
  return a < b;
}

template <typename V>
bool PointLess(const Point<V>& a, const Point<V>& b) {
  return a.time != b.time ? a.time < b.time : ValueLess(a.value, b.value);
}

// Sorts by (time, value).
template <typename V>
void SortPoints(std::vector<Point<V>>* points);

// Sorts, and keeps of each time the greatest value, as last(value, time) does.
template <typename V>
void KeepOnePerTime(std::vector<Point<V>>* points);

// Neumaier's sum: exact to the last digit or so whatever the number of terms.
class Sum {
 public:
  void Add(double term) {
    const double sum = sum_ + term;
    lost_ += std::fabs(sum_) >= std::fabs(term) ? (sum_ - sum) + term : (term - sum) + sum_;
    sum_ = sum;
  }
  double Get() const { return std::isfinite(lost_) ? sum_ + lost_ : sum_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

enum class Interpolation { kLocf, kLinear };

// The area under the curve through points of increasing times, added one after the other, where
// each value holds until the next one (then the last one has no weight) or moves to it in a
// straight line.
class Area {
 public:
  explicit Area(Interpolation method) : method_(method) {}

  void Add(const Point<double>& point);
  // The mean from the first to the last time; of one point its value. It may be infinite or NaN
  // where only the area is, which TimeWeightedMean puts right. At least one point.
  double Mean() const;

 private:
  Interpolation method_;
  bool started_ = false;
  int64_t first_time_ = 0;
  Point<double> last_;
  Sum area_;
};

// The mean of the curve from the first to the last time. `points` have increasing times and are not
// empty.
double TimeWeightedMean(std::span<const Point<double>> points, Interpolation method);

// A part of such a curve of which only this is known.
struct Stretch {
  int64_t first_time = 0, last_time = 0;
  double first = 0, last = 0;
  double mean = 0;  // from the first to the last time; of one point its value
};

// The mean of the curve through stretches, at least one; nothing where they overlap. Sorts them.
std::optional<double> TimeWeightedMean(std::vector<Stretch>* stretches, Interpolation method);

// How much a counter goes up over points of increasing times, added one after the other: the sum of
// its steps, where a smaller value than before means that it started again from zero.
template <typename V>
class CounterSteps {
 public:
  void Add(const Point<V>& point);
  // Nothing if that overflows.
  std::optional<V> Increase() const;

 private:
  bool started_ = false;
  bool overflow_ = false;
  V last_{};
  std::conditional_t<std::is_floating_point_v<V>, Sum, V> sum_{};
};

// The last minus the first value; nothing if that overflows.
std::optional<double> Delta(const Point<double>& first, const Point<double>& last);
std::optional<int64_t> Delta(const Point<int64_t>& first, const Point<int64_t>& last);

// From `begin` to a later time.
double SecondsBetween(int64_t begin, int64_t end);

// Largest-Triangle-Three-Buckets (Steinarsson 2013): `n` of the points, which are sorted by time,
// such that the curve looks the same; all of them if they are no more than `n`. `n` >= 2.
std::vector<Point<double>> Lttb(std::span<const Point<double>> points, size_t n);

// What a line drawn through the points of one pixel column shows: the first and the last one, the
// lowest and the highest one (of equals the earliest).
struct M4 {
  bool set = false;
  Point<double> first, last, low, high;

  void Add(const Point<double>& point);
  void Merge(const M4& other);
  // Without repeats, by time; at most 4, `out` has room for them. Returns how many.
  int Points(Point<double>* out) const;
};

}  // namespace timelake::sql

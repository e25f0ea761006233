#include "sql/functions/points.h"

#include <algorithm>
#include <utility>

namespace timelake::sql {

namespace {

double MicrosBetween(int64_t begin, int64_t end) {
  return static_cast<double>(static_cast<uint64_t>(end) - static_cast<uint64_t>(begin));
}

double HeightBetween(double from, double to, Interpolation method) {
  return method == Interpolation::kLocf ? from : from / 2 + to / 2;
}

}  // namespace

template <typename V>
void SortPoints(std::vector<Point<V>>* points) {
  if (std::is_sorted(points->begin(), points->end(), PointLess<V>)) return;
  std::sort(points->begin(), points->end(), PointLess<V>);
}

template <typename V>
void KeepOnePerTime(std::vector<Point<V>>* points) {
  SortPoints(points);
  size_t kept = 0;
  for (size_t i = 0; i < points->size(); ++i) {
    if (i + 1 < points->size() && (*points)[i + 1].time == (*points)[i].time) continue;
    (*points)[kept++] = (*points)[i];
  }
  points->resize(kept);
}

template void SortPoints(std::vector<Point<double>>*);
template void SortPoints(std::vector<Point<int64_t>>*);
template void KeepOnePerTime(std::vector<Point<double>>*);
template void KeepOnePerTime(std::vector<Point<int64_t>>*);

void Area::Add(const Point<double>& point) {
  if (started_) {
    area_.Add(HeightBetween(last_.value, point.value, method_) *
              MicrosBetween(last_.time, point.time));
  } else {
    first_time_ = point.time;
    started_ = true;
  }
  last_ = point;
}

double Area::Mean() const {
  if (last_.time == first_time_) return last_.value;
  return area_.Get() / MicrosBetween(first_time_, last_.time);
}

double TimeWeightedMean(std::span<const Point<double>> points, Interpolation method) {
  Area area(method);
  for (const auto& point : points) area.Add(point);
  if (std::isfinite(area.Mean()) || points.size() == 1) return area.Mean();
  // Values near the end of the range of double overflow as areas, though not as a mean.
  const double total = MicrosBetween(points.front().time, points.back().time);
  Sum mean;
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    mean.Add(HeightBetween(points[i].value, points[i + 1].value, method) *
             (MicrosBetween(points[i].time, points[i + 1].time) / total));
  }
  return mean.Get();
}

namespace {

// Calls add(height, length in microseconds) for the stretches and what lies between them.
template <typename Add>
void ForEachPart(const std::vector<Stretch>& stretches, Interpolation method, const Add& add) {
  for (size_t i = 0; i < stretches.size(); ++i) {
    const Stretch& it = stretches[i];
    if (it.first_time < it.last_time) add(it.mean, MicrosBetween(it.first_time, it.last_time));
    if (i + 1 == stretches.size()) break;
    const Stretch& next = stretches[i + 1];
    add(HeightBetween(it.last, next.first, method), MicrosBetween(it.last_time, next.first_time));
  }
}

}  // namespace

std::optional<double> TimeWeightedMean(std::vector<Stretch>* stretches, Interpolation method) {
  std::sort(stretches->begin(), stretches->end(), [](const Stretch& a, const Stretch& b) {
    return std::pair(a.first_time, a.last_time) < std::pair(b.first_time, b.last_time);
  });
  for (size_t i = 0; i + 1 < stretches->size(); ++i) {
    if ((*stretches)[i].last_time >= (*stretches)[i + 1].first_time) return std::nullopt;
  }
  const double total = MicrosBetween(stretches->front().first_time, stretches->back().last_time);
  if (total == 0) return stretches->front().mean;
  Sum area;
  ForEachPart(*stretches, method, [&](double height, double length) { area.Add(height * length); });
  if (std::isfinite(area.Get())) return area.Get() / total;
  Sum mean;  // as above
  ForEachPart(*stretches, method,
              [&](double height, double length) { mean.Add(height * (length / total)); });
  return mean.Get();
}

template <typename V>
void CounterSteps<V>::Add(const Point<V>& point) {
  if (started_) {
    const bool reset = point.value < last_;
    if constexpr (std::is_floating_point_v<V>) {
      sum_.Add(reset ? point.value : point.value - last_);
    } else {
      V step = point.value;
      overflow_ |= !reset && __builtin_sub_overflow(point.value, last_, &step);
      overflow_ |= __builtin_add_overflow(sum_, step, &sum_);
    }
  }
  started_ = true;
  last_ = point.value;
}

template <typename V>
std::optional<V> CounterSteps<V>::Increase() const {
  if (overflow_) return std::nullopt;
  if constexpr (std::is_floating_point_v<V>) {
    return sum_.Get();
  } else {
    return sum_;
  }
}

template class CounterSteps<double>;
template class CounterSteps<int64_t>;

std::optional<double> Delta(const Point<double>& first, const Point<double>& last) {
  return last.value - first.value;
}

std::optional<int64_t> Delta(const Point<int64_t>& first, const Point<int64_t>& last) {
  int64_t delta = 0;
  if (__builtin_sub_overflow(last.value, first.value, &delta)) return std::nullopt;
  return delta;
}

double SecondsBetween(int64_t begin, int64_t end) { return MicrosBetween(begin, end) / 1e6; }

std::vector<Point<double>> Lttb(std::span<const Point<double>> points, size_t n) {
  if (points.size() <= n) return {points.begin(), points.end()};
  const int64_t origin = points.front().time;
  const auto x = [&](size_t i) { return MicrosBetween(origin, points[i].time); };
  const auto y = [&](size_t i) { return points[i].value; };
  // The first and last points stay; the rest are n - 2 groups of as equal size as can be. Of each
  // group the point stays that makes the largest triangle with the one chosen before and the mean
  // of the next group; of equals the first.
  const double every =
      n > 2 ? static_cast<double>(points.size() - 2) / static_cast<double>(n - 2) : 0;
  const auto group_begin = [&](size_t group) {
    return std::min(static_cast<size_t>(static_cast<double>(group) * every) + 1, points.size() - 1);
  };
  std::vector<Point<double>> chosen = {points.front()};
  size_t before = 0;
  for (size_t group = 0; group + 2 < n; ++group) {
    const size_t begin = group_begin(group), end = group_begin(group + 1);
    const size_t next_end = group + 3 < n ? group_begin(group + 2) : points.size();
    double mean_x = 0, mean_y = 0;
    for (size_t i = end; i < next_end; ++i) {
      mean_x += x(i);
      mean_y += y(i);
    }
    mean_x /= static_cast<double>(next_end - end);
    mean_y /= static_cast<double>(next_end - end);
    size_t best = begin;
    double largest = -1;
    for (size_t i = begin; i < end; ++i) {
      const double area = std::fabs((x(before) - mean_x) * (y(i) - y(before)) -
                                    (x(before) - x(i)) * (mean_y - y(before)));
      if (area > largest) {
        largest = area;
        best = i;
      }
    }
    chosen.push_back(points[best]);
    before = best;
  }
  chosen.push_back(points.back());
  return chosen;
}

void M4::Add(const Point<double>& point) {
  if (!set) {
    *this = M4{true, point, point, point, point};
    return;
  }
  if (PointLess(point, first)) first = point;
  if (PointLess(last, point)) last = point;
  const auto beats = [&](double a, double b, const Point<double>& old) {
    return ValueLess(a, b) || (!ValueLess(b, a) && point.time < old.time);
  };
  if (beats(point.value, low.value, low)) low = point;
  if (beats(-point.value, -high.value, high)) high = point;
}

void M4::Merge(const M4& other) {
  if (!other.set) return;
  for (const auto* point : {&other.first, &other.low, &other.high, &other.last}) Add(*point);
}

int M4::Points(Point<double>* out) const {
  if (!set) return 0;
  out[0] = first;
  out[1] = low;
  out[2] = high;
  out[3] = last;
  std::sort(out, out + 4, PointLess<double>);
  return static_cast<int>(std::unique(out, out + 4) - out);
}

}  // namespace timelake::sql

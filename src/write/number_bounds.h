#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>

#include <parquet/statistics.h>

namespace timelake::write {

// Smallest and largest number of a page or chunk, NaN left out.
template <typename T>
struct NumberBounds {
  T min = Highest();
  T max = Lowest();
  bool any = false;

  static constexpr T Highest() {
    if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::max();
  }
  static constexpr T Lowest() {
    if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::min();
  }

  // Several values at a time: the comparisons of one chain would wait for each other. `nans`, if
  // not null, is raised by the number of NaN.
  static NumberBounds Of(const T* values, size_t count, int64_t* nans = nullptr) {
    constexpr size_t kLanes = 8;
    T min[kLanes], max[kLanes];
    int64_t missing[kLanes] = {};
    std::fill_n(min, kLanes, Highest());
    std::fill_n(max, kLanes, Lowest());
    const auto look = [&](size_t lane, T value) {
      min[lane] = value < min[lane] ? value : min[lane];
      max[lane] = max[lane] < value ? value : max[lane];
      if constexpr (std::is_floating_point_v<T>) missing[lane] += value != value;
    };
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) look(lane, values[i + lane]);
    }
    for (; i < count; ++i) look(0, values[i]);
    const int64_t found = std::accumulate(missing, missing + kLanes, int64_t{0});
    if (nans != nullptr) *nans += found;
    return {*std::min_element(min, min + kLanes), *std::max_element(max, max + kLanes),
            found < static_cast<int64_t>(count)};
  }

  void Add(const NumberBounds& other) {
    if (!other.any) return;
    min = other.min < min ? other.min : min;
    max = max < other.max ? other.max : max;
    any = true;
  }

  // As Parquet stores them: PLAIN, a zero minimum as -0.0 and a zero maximum as +0.0, since readers
  // may tell the two apart (parquet.thrift, ColumnOrder).
  parquet::EncodedStatistics Encode() const {
    parquet::EncodedStatistics statistics;
    if (!any) return statistics;
    T low = min, high = max;
    if constexpr (std::is_floating_point_v<T>) {
      if (low == 0) low = std::copysign(low, T{-1});
      if (high == 0) high = std::copysign(high, T{1});
    }
    const auto plain = [](T value) {
      std::string bytes(sizeof(T), '\0');
      std::memcpy(bytes.data(), &value, sizeof(T));
      return bytes;
    };
    statistics.set_min(plain(low));
    statistics.set_max(plain(high));
    return statistics;
  }
};

}  // namespace timelake::write

#pragma once

#include <cstdint>
#include <limits>

#include "base/civil_time.h"

namespace timelake::sql {

// Rounds times down to the start of their bucket: buckets of a fixed width counted from an origin,
// or of whole months (UTC). Remembers the last bucket, since times come in runs: most of them cost
// two comparisons. Total over int64 but for buckets that start before its range.
class TimeFloor {
 public:
  // `width` > 0.
  static TimeFloor Fixed(int64_t width, int64_t origin) {
    return TimeFloor(width, FloorMod(origin, width), false);
  }
  // `months` > 0; `origin` counts months since 1970-01.
  static TimeFloor Months(int64_t months, int64_t origin) {
    return TimeFloor(months, FloorMod(origin, months), true);
  }

  // False if the bucket starts outside of int64.
  bool Apply(int64_t time, int64_t* bucket) {
    if (time < low_ || time >= high_) {
      if (!(months_ ? MoveMonths(time) : MoveFixed(time))) return false;
    }
    *bucket = low_;
    return true;
  }

  // The end of the bucket of the last Apply that returned true; the largest int64 if it is beyond.
  int64_t high() const { return high_; }

 private:
  TimeFloor(int64_t width, int64_t phase, bool months)
      : width_(width), phase_(phase), months_(months) {}

  bool MoveFixed(int64_t time) {
    int64_t into = FloorMod(time, width_) - phase_;
    if (into < 0) into += width_;
    int64_t low = 0;
    if (__builtin_sub_overflow(time, into, &low)) return false;
    int64_t high = 0;
    Set(low, __builtin_add_overflow(low, width_, &high) ? kEnd : high);
    return true;
  }

  bool MoveMonths(int64_t time) {
    const int64_t month = MonthsFromMicros(time);
    int64_t into = FloorMod(month, width_) - phase_;
    if (into < 0) into += width_;
    const auto low = MicrosFromMonths(month - into);
    if (!low.ok()) return false;
    const auto high = MicrosFromMonths(month - into + width_);
    Set(*low, high.ok() ? *high : kEnd);
    return true;
  }

  void Set(int64_t low, int64_t high) {
    low_ = low;
    high_ = high;
  }

  static constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

  int64_t width_;
  int64_t phase_;
  bool months_;
  int64_t low_ = 0;  // the last bucket, at first an empty one
  int64_t high_ = 0;
};

}  // namespace timelake::sql

#include "sql/functions/bucket_grid.h"

#include <algorithm>

namespace timelake::sql {

namespace {

// DuckDB's and TimescaleDB's grids.
constexpr int64_t kDefaultOrigin = 10959 * kMicrosPerDay;  // Monday 2000-01-03
constexpr int64_t kDefaultOriginMonth = 360;               // 2000-01

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

bool Add(int64_t a, int64_t b, int64_t* sum) { return !__builtin_add_overflow(a, b, sum); }
bool Subtract(int64_t a, int64_t b, int64_t* difference) {
  return !__builtin_sub_overflow(a, b, difference);
}

}  // namespace

Result<BucketGrid> BucketGrid::Make(const Options& options) {
  int64_t origin = options.origin.value_or(kDefaultOrigin);
  if (options.origin && options.zone) {
    if (!Add(origin, options.zone->At(origin).offset, &origin)) {
      return InvalidArgument("origin: out of range");
    }
  }
  if (options.width.months > 0) {
    const int64_t month = options.origin ? MonthsFromMicros(origin) : kDefaultOriginMonth;
    return BucketGrid(TimeFloor::Months(options.width.months, month + options.shift_months),
                      options.shift_micros, options.zone);
  }
  if (options.shift_months != 0) {
    return InvalidArgument("offset: months need a width in months");
  }
  // Only the phase matters, so nothing overflows.
  const int64_t width = options.width.micros;
  const auto phase = static_cast<uint64_t>(FloorMod(origin, width)) +
                     static_cast<uint64_t>(FloorMod(options.shift_micros, width));
  return BucketGrid(
      TimeFloor::Fixed(width, static_cast<int64_t>(phase % static_cast<uint64_t>(width))), 0,
      options.zone);
}

bool BucketGrid::FloorLocal(int64_t local, int64_t* low, int64_t* high) {
  if (shift_ == 0) {
    if (!floor_.Apply(local, low)) return false;
    *high = floor_.high();
    return true;
  }
  int64_t shifted = 0;
  if (!Subtract(local, shift_, &shifted) || !floor_.Apply(shifted, low)) return false;
  if (!Add(*low, shift_, low)) return false;
  *high = floor_.high();
  if (*high != kMax && !Add(*high, shift_, high)) *high = kMax;
  return true;
}

bool BucketGrid::Floor(int64_t time, int64_t* bucket) {
  if (!zone_) {
    if (shift_ == 0) return floor_.Apply(time, bucket);
    int64_t high = 0;
    return FloorLocal(time, bucket, &high);
  }
  if (time >= low_ && time < high_) {
    *bucket = bucket_;
    return true;
  }
  return FloorZoned(time, bucket);
}

bool BucketGrid::FloorZoned(int64_t time, int64_t* bucket) {
  const ZoneSegment segment = zone_->At(time);
  int64_t low = 0, high = 0;
  if (!Resolve(time, segment, &low, &high, &bucket_)) return false;
  *bucket = bucket_;
  low_ = segment.begin;
  int64_t edge = 0;
  if (Subtract(low, segment.offset, &edge)) low_ = std::max(edge, low_);
  high_ = segment.end;
  if (high != kMax && Subtract(high, segment.offset, &edge)) high_ = std::min(edge, high_);
  return true;
}

bool BucketGrid::Resolve(int64_t time, const ZoneSegment& segment, int64_t* low, int64_t* high,
                         int64_t* bucket) {
  int64_t local = 0;
  if (!Add(time, segment.offset, &local) || !FloorLocal(local, low, high) ||
      !Subtract(*low, segment.offset, bucket)) {
    return false;
  }
  const int64_t change = segment.begin;
  if (*bucket > change || change == std::numeric_limits<int64_t>::min()) return true;
  // By this clock the bucket began before `change`, when another one may have been valid. It is the
  // bucket of the instant before if the other clock was in the same one; unless that was full and
  // the clock was set back to its very start: then it comes again.
  const ZoneSegment before = zone_->At(change - 1);
  int64_t other_low = 0, other_high = 0;
  if (!FloorLocal(change - 1 + before.offset, &other_low, &other_high)) return false;
  const bool again = change + segment.offset == other_low && change + before.offset == other_high;
  if (other_low != *low || again) {
    *bucket = change;
    return true;
  }
  // Nothing happens to a long bucket between its first days and here.
  int64_t inside = change - 1, early = 0;
  if (Add(*bucket, 2 * kMicrosPerDay, &early)) inside = std::min(inside, early);
  const ZoneSegment first = zone_->At(inside);
  return Resolve(inside, first, &other_low, &other_high, bucket);
}

bool BucketGrid::Next(int64_t bucket, int64_t* next) {
  if (!zone_) {
    int64_t low = 0;
    return FloorLocal(bucket, &low, next) && *next != kMax;
  }
  // Up to the end of the bucket by the clock of each segment in turn; but of a long bucket only the
  // last days matter, since no clock is changed by as much as that.
  int64_t at = bucket, local = 0, local_low = 0, local_high = 0, late = 0;
  const int64_t offset = zone_->At(bucket).offset;
  if (Add(bucket, offset, &local) && FloorLocal(local, &local_low, &local_high) &&
      Subtract(local_high, offset, &late) && Subtract(late, 3 * kMicrosPerDay, &late)) {
    at = std::max(at, late);
  }
  while (true) {
    int64_t start = 0;
    if (!Floor(at, &start)) return false;
    if (start > bucket) {
      *next = start;
      return true;
    }
    if (high_ == kMax) return false;
    at = high_;
  }
}

}  // namespace timelake::sql

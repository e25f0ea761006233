#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "sql/functions/bucket_width.h"
#include "sql/functions/zone_clock.h"
#include "sql/time_floor.h"

namespace timelake::sql {

// Buckets of one width. Without a zone they divide the plain time line; with one they divide what
// the zone's clock shows, so days begin at midnight and "6h" at 0, 6, 12 and 18 o'clock, whatever
// the season. When the clock is set back within a bucket, that bucket becomes longer; when it is
// set back to before the bucket, or just to the start of one that is over, buckets come twice (two
// instants, the same reading). When it is set forward, buckets become shorter or are missing. A
// bucket whose start the clock did not show begins at the change. Remembers the last bucket. Not
// thread-safe.
class BucketGrid {
 public:
  // The grid of fixed widths counts from `origin`, that of months from the month of `origin`; by
  // default from Monday 2000-01-03 and from 2000-01. `shift` moves all boundaries. `origin` is an
  // instant; the default one is what the clock shows. InvalidArgument if origin + shift overflow.
  struct Options {
    BucketWidth width;
    std::optional<int64_t> origin;
    int64_t shift_months = 0;  // only for widths in months
    int64_t shift_micros = 0;
    std::shared_ptr<ZoneClock> zone;  // null: UTC
  };
  static Result<BucketGrid> Make(const Options& options);

  // The start of the bucket around `time`; false if it is outside of int64.
  bool Floor(int64_t time, int64_t* bucket);

  // The first bucket that starts after the one that starts at `bucket`; false if there is none.
  bool Next(int64_t bucket, int64_t* next);

 private:
  BucketGrid(TimeFloor floor, int64_t shift, std::shared_ptr<ZoneClock> zone)
      : floor_(floor), shift_(shift), zone_(std::move(zone)) {}

  bool FloorLocal(int64_t local, int64_t* low, int64_t* high);
  bool FloorZoned(int64_t time, int64_t* bucket);
  // The bucket around `time`, and what the clock of `segment`, which is the one at `time`, shows at
  // its edges.
  bool Resolve(int64_t time, const ZoneSegment& segment, int64_t* low, int64_t* high,
               int64_t* bucket);

  TimeFloor floor_;
  int64_t shift_;  // subtracted before and added after floor_; only for months
  std::shared_ptr<ZoneClock> zone_;
  // With a zone: instants in [low_, high_) are in bucket_.
  int64_t low_ = 0, high_ = 0, bucket_ = 0;
};

}  // namespace timelake::sql

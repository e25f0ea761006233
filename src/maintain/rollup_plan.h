#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "table/rollup_position.h"

namespace timelake::maintain {

// Which buckets of a rollup are computed anew: pure.

// Times of rows, both included, and how much there is to read for them: a data file.
struct Span {
  int64_t first = 0;
  int64_t last = 0;
  int64_t bytes = 0;
  int64_t rows = 0;
};

// The bucket around a time, and the one behind the bucket that starts there. False: out of range.
struct BucketEdges {
  std::function<bool(int64_t time, int64_t* start)> floor;
  std::function<bool(int64_t start, int64_t* next)> next;
};

// Whole buckets that the spans touch, in order, those next to each other as one range.
std::vector<table::TimeRange> TouchedBuckets(const std::vector<Span>& spans,
                                             const BucketEdges& edges);

// Ranges of both, in order and without overlap.
std::vector<table::TimeRange> Unite(std::vector<table::TimeRange> a,
                                    const std::vector<table::TimeRange>& b);

// What is left of `ranges` without `others`, both in order and without overlap.
std::vector<table::TimeRange> Without(const std::vector<table::TimeRange>& ranges,
                                      const std::vector<table::TimeRange>& others);

// The parts from `floor_us` on.
std::vector<table::TimeRange> From(const std::vector<table::TimeRange>& ranges, int64_t floor_us);

// The first bucket that starts at or after `time`.
int64_t CeilBucket(int64_t time, const BucketEdges& edges);

// Splits ranges where the files that rows are read of come to more than `max_bytes` (0: no limit).
// Files that overlap are not parted, and at least one bucket is in `now`. What comes again and
// again must not keep others waiting: with a limit it goes on from `cursor`, and what is before
// that comes last in `later`.
struct Share {
  std::vector<table::TimeRange> now, later;
};
Share ShareOf(const std::vector<table::TimeRange>& ranges, std::vector<Span> files,
              int64_t max_bytes, const BucketEdges& edges,
              int64_t cursor = std::numeric_limits<int64_t>::min());

// Splits ranges, in order, where the files that rows are read of come to about so many rows: as
// ShareOf, between files where they do not overlap. At least one slice.
std::vector<std::vector<table::TimeRange>> SlicesOf(const std::vector<table::TimeRange>& ranges,
                                                    std::vector<Span> files, int64_t rows,
                                                    const BucketEdges& edges);

}  // namespace timelake::maintain

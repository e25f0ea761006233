#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace timelake::sql {

// The width of time buckets: whole months, or a fixed length. Exactly one of the two is > 0.
struct BucketWidth {
  int64_t months = 0;
  int64_t micros = 0;

  bool operator==(const BucketWidth&) const = default;
};

// "15m", "1h30m", "90 seconds", "1d", "2 weeks", "1mo", "3 months", "1q", "1y". Whole numbers, each
// with a unit: us, ms, s, m or min, h, d, w, or mo, q, y (calendar months), as symbols or words.
// InvalidArgument naming the text and the accepted units for all else; "M" is refused, since it
// means minutes to some and months to others.
Result<BucketWidth> ParseBucketWidth(std::string_view text);

// An interval in DuckDB's three parts. InvalidArgument if it is not positive, mixes months with
// days or times, or is longer than int64 microseconds.
Result<BucketWidth> MakeBucketWidth(int64_t months, int64_t days, int64_t micros);

}  // namespace timelake::sql

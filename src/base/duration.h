#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

// Lengths of time as settings and commands hold them: int64 microseconds.

namespace timelake {

// "90d", "90 days", "5 min", "1h30m", "1 day 12 hours", "250us", "0s". Numbers are whole and not
// negative; each has a unit, and units go from large to small without repeats. Units (words in any
// case, singular or plural): y = 365d, w, d, h, m or min, s or sec, ms, us. InvalidArgument, naming
// the text and the accepted units, for all else (a bare number, months, fractions, overflow).
Result<int64_t> ParseDuration(std::string_view text);

// Canonical and exact, in d, h, m, s, ms, us without zero parts: "90d", "1h30m", "250ms", "0s".
// ParseDuration reads it back. A negative duration, which only messages need, has a leading '-'.
std::string FormatDuration(int64_t micros);

}  // namespace timelake

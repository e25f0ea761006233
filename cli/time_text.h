#pragma once

#include <cstdint>
#include <string>

// Instants, dates and times of day in ISO 8601. Years beyond 0..9999 get a sign.

namespace timelake::cli {

// Appends "2026-01-03".
void AppendDate(int64_t days_since_1970, std::string* out);

// Appends "05:06:07" and, unless it is zero, a fraction of 3, 6 or 9 digits. `ticks` since
// midnight.
void AppendTimeOfDay(int64_t ticks, int64_t ticks_per_second, std::string* out);

// Appends "2026-01-03T05:06:07.5"; with "Z" when `utc`.
void AppendTimestamp(int64_t ticks, int64_t ticks_per_second, bool utc, std::string* out);

std::string UtcFromMicros(int64_t microseconds);
std::string UtcFromMillis(int64_t milliseconds);

}  // namespace timelake::cli

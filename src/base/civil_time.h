#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

// Time is int64 microseconds UTC since 1970-01-01, over the whole range of int64 (years -290308 to
// 294247), in the proleptic Gregorian calendar with a year 0. This file is the only place that
// divides time. It always rounds down: -1 us lies in 1969-12-31, hour -1, month -1.

namespace timelake {

inline constexpr int64_t kMicrosPerMilli = 1'000;
inline constexpr int64_t kMicrosPerSecond = 1'000'000;
inline constexpr int64_t kMicrosPerMinute = 60 * kMicrosPerSecond;
inline constexpr int64_t kMicrosPerHour = 60 * kMicrosPerMinute;
inline constexpr int64_t kMicrosPerDay = 24 * kMicrosPerHour;

// Quotient rounded towards minus infinity. `divisor` > 0.
constexpr int64_t FloorDiv(int64_t value, int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

// value - FloorDiv(value, divisor) * divisor, in 0..divisor-1. `divisor` > 0.
constexpr int64_t FloorMod(int64_t value, int64_t divisor) {
  const int64_t rest = value % divisor;
  return rest < 0 ? rest + divisor : rest;
}

// A UTC date and time of day. No leap seconds.
struct CivilTime {
  int64_t year = 1970;
  int month = 1;   // 1..12
  int day = 1;     // 1..31
  int hour = 0;    // 0..23
  int minute = 0;  // 0..59
  int second = 0;  // 0..59
  int micros = 0;  // 0..999999

  bool operator==(const CivilTime&) const = default;
};

// Total: every int64 is a civil time.
CivilTime ToCivil(int64_t micros);

// Inverse of ToCivil. InvalidArgument if a field is out of range or the instant does not fit.
Result<int64_t> FromCivil(const CivilTime& civil);

// Midnight of day `days` since 1970-01-01; total over int64.
CivilTime CivilFromDays(int64_t days);

// Ordinals of the Iceberg transforms hour, day, month and year (spec, "Partition Transforms"):
// whole units since 1970-01-01T00:00Z. Iceberg stores them as 32-bit integers; days, months and
// years of any int64 instant fit, hours only from about year -243000 to 246900.
constexpr int64_t HoursFromMicros(int64_t micros) { return FloorDiv(micros, kMicrosPerHour); }
constexpr int64_t DaysFromMicros(int64_t micros) { return FloorDiv(micros, kMicrosPerDay); }
int64_t MonthsFromMicros(int64_t micros);
int64_t YearsFromMicros(int64_t micros);

// First instant of an ordinal. InvalidArgument if it does not fit int64 microseconds.
Result<int64_t> MicrosFromHours(int64_t hours);
Result<int64_t> MicrosFromDays(int64_t days);
Result<int64_t> MicrosFromMonths(int64_t months);
Result<int64_t> MicrosFromYears(int64_t years);

// Partition labels, the "human strings" of Iceberg's Java library: part of file paths, never to be
// changed. Arguments are the ordinals above; total over int64. Years are padded to four characters,
// the sign among them: "0987", "-001", "12345".
std::string HourLabel(int64_t hours);    // 2026-01-03-05
std::string DayLabel(int64_t days);      // 2026-01-03
std::string MonthLabel(int64_t months);  // 2026-01
std::string YearLabel(int64_t years);    // 2026

// "2026-01-03T05:06:07", with as many fraction digits as needed of 0, 3 and 6, and "Z" if `zoned`.
// Years outside 0..9999 carry a sign (ISO 8601): "-0001-...", "+12345-...".
std::string FormatTimestamp(int64_t micros, bool zoned = true);

struct ParsedTimestamp {
  int64_t micros = 0;  // UTC; text without an offset is taken as UTC
  bool zoned = false;  // the text named an offset
};

// ISO 8601 text: a date, or a date, 'T' or one space, HH:MM[:SS[.fraction]] and optionally Z, +HH,
// +HHMM or +HH:MM (either sign, up to 18:00). Years have 4 digits, or 4 to 6 with a sign. A
// fraction has 1 to 9 digits; those after the sixth must be zero. InvalidArgument naming the text
// if it has another form, an impossible value or finer precision, or does not fit.
Result<ParsedTimestamp> ParseTimestamp(std::string_view text);

}  // namespace timelake

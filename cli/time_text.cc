#include "time_text.h"

#include <iterator>

#include <fmt/format.h>

namespace timelake::cli {
namespace {

constexpr int64_t kSecondsPerDay = 86'400;

int64_t FloorDiv(int64_t value, int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

template <typename... Args>
void Print(std::string* out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(*out), format, std::forward<Args>(args)...);
}

}  // namespace

// Days of the proleptic Gregorian calendar, counted in eras of 400 years that start on 1 March.
void AppendDate(int64_t days_since_1970, std::string* out) {
  constexpr int64_t kDaysPerEra = 146'097;
  constexpr int64_t kEpochFromEraStart = 719'468;
  const int64_t days = days_since_1970 + kEpochFromEraStart;
  const int64_t era = FloorDiv(days, kDaysPerEra);
  const int64_t day_of_era = days - era * kDaysPerEra;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const int64_t day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
  const int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  const int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  if (year < 0) {
    Print(out, "-{:04}", -year);
  } else if (year > 9999) {
    Print(out, "+{}", year);
  } else {
    Print(out, "{:04}", year);
  }
  Print(out, "-{:02}-{:02}", month, day);
}

void AppendTimeOfDay(int64_t ticks, int64_t ticks_per_second, std::string* out) {
  const int64_t seconds = ticks / ticks_per_second;
  int64_t fraction = ticks % ticks_per_second;
  Print(out, "{:02}:{:02}:{:02}", seconds / 3'600, seconds / 60 % 60, seconds % 60);
  if (fraction == 0) return;
  int digits = ticks_per_second == 1'000 ? 3 : ticks_per_second == 1'000'000 ? 6 : 9;
  while (digits > 3 && fraction % 1'000 == 0) fraction /= 1'000, digits -= 3;
  Print(out, ".{:0{}}", fraction, digits);
}

void AppendTimestamp(int64_t ticks, int64_t ticks_per_second, bool utc, std::string* out) {
  const int64_t ticks_per_day = kSecondsPerDay * ticks_per_second;
  const int64_t days = FloorDiv(ticks, ticks_per_day);
  AppendDate(days, out);
  out->push_back('T');
  // The first day of the range starts below the smallest integer.
  const int64_t in_day = ticks % ticks_per_day;
  AppendTimeOfDay(in_day < 0 ? in_day + ticks_per_day : in_day, ticks_per_second, out);
  if (utc) out->push_back('Z');
}

std::string UtcFromMicros(int64_t microseconds) {
  std::string text;
  AppendTimestamp(microseconds, 1'000'000, /*utc=*/true, &text);
  return text;
}

std::string UtcFromMillis(int64_t milliseconds) {
  std::string text;
  AppendTimestamp(milliseconds, 1'000, /*utc=*/true, &text);
  return text;
}

}  // namespace timelake::cli

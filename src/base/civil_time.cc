#include "base/civil_time.h"

#include <algorithm>

#include "base/text.h"

namespace timelake {
namespace {

// Days, counted from 0000-03-01, of 1970-01-01; a cycle is 400 years. Counting from March puts the
// leap day at the end of a year.
constexpr int64_t kEpochFromMarchYear0 = 719'468;
constexpr int64_t kDaysPerCycle = 146'097;

// Years whose instants may fit; keeps the arithmetic below far from overflow.
constexpr int64_t kMinYear = -290'308;
constexpr int64_t kMaxYear = 294'247;

constexpr int64_t kMaxOffsetMinutes = 18 * 60;

bool IsLeapYear(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int DaysInMonth(int64_t year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && IsLeapYear(year) ? 29 : kDays[month - 1];
}

// Valid date with a year in kMinYear..kMaxYear.
int64_t DaysFromCivil(int64_t year, int month, int day) {
  const int64_t march_year = month <= 2 ? year - 1 : year;
  const int64_t year_of_cycle = FloorMod(march_year, 400);
  const int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  const int64_t day_of_cycle =
      year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
  return FloorDiv(march_year, 400) * kDaysPerCycle + day_of_cycle - kEpochFromMarchYear0;
}

Result<int64_t> StartOf(int64_t ordinal, int64_t width, std::string_view unit) {
  int64_t micros;
  if (__builtin_mul_overflow(ordinal, width, &micros)) {
    return InvalidArgument("{} {} since 1970 is out of range for microseconds", unit, ordinal);
  }
  return micros;
}

Result<int64_t> StartOfMonth(int64_t year_ordinal, int month, int64_t ordinal,
                             std::string_view unit) {
  if (year_ordinal > kMinYear - 1970 && year_ordinal <= kMaxYear - 1970) {
    return FromCivil({.year = year_ordinal + 1970, .month = month});
  }
  return InvalidArgument("{} {} since 1970 is out of range for microseconds", unit, ordinal);
}

std::string YearText(int64_t year) { return fmt::format("{:04}", year); }

// Reads a timestamp from left to right. A failing step leaves why in `problem_`.
class TimestampParser {
 public:
  explicit TimestampParser(std::string_view text) : text_(text), rest_(text) {}

  Result<ParsedTimestamp> Parse() {
    CivilTime civil;
    int64_t offset_minutes = 0;
    bool zoned = false;
    bool well_formed = ReadDate(&civil);
    if (well_formed && !rest_.empty()) {
      well_formed = (Take('T') || Take('t') || Take(' ')) && ReadClock(&civil) &&
                    ReadOffset(&offset_minutes, &zoned) && rest_.empty();
    }
    if (!problem_.empty()) return InvalidArgument("timestamp {}: {}", Quote(text_), problem_);
    if (!well_formed) {
      return InvalidArgument(
          "timestamp {} is not of the form 2026-01-03, 2026-01-03T05:06:07.123456 or "
          "2026-01-03 05:06:07+01:00",
          Quote(text_));
    }
    const auto local = FromCivil(civil);
    if (!local.ok()) {
      return InvalidArgument("timestamp {}: {}", Quote(text_), MessageOf(local.status()));
    }
    ParsedTimestamp parsed{.zoned = zoned};
    if (__builtin_sub_overflow(*local, offset_minutes * kMicrosPerMinute, &parsed.micros)) {
      return InvalidArgument("timestamp {} is out of range for microseconds", Quote(text_));
    }
    return parsed;
  }

 private:
  bool Take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  size_t CountDigits() const {
    return std::min(rest_.find_first_not_of("0123456789"), rest_.size());
  }

  // `count` digits, of which there are at least that many.
  int64_t TakeNumber(size_t count) {
    int64_t number = 0;
    for (size_t i = 0; i < count; ++i) number = number * 10 + (rest_[i] - '0');
    rest_.remove_prefix(count);
    return number;
  }

  bool TakeTwoDigits(int* number) {
    if (CountDigits() < 2) return false;
    *number = static_cast<int>(TakeNumber(2));
    return true;
  }

  bool ReadDate(CivilTime* civil) {
    const bool negative = Take('-');
    const bool is_signed = negative || Take('+');
    const size_t digits = CountDigits();
    if (digits < 4 || digits > (is_signed ? 6 : 4)) return false;
    const int64_t year = TakeNumber(digits);
    civil->year = negative ? -year : year;
    return Take('-') && TakeTwoDigits(&civil->month) && Take('-') && TakeTwoDigits(&civil->day);
  }

  bool ReadClock(CivilTime* civil) {
    if (!TakeTwoDigits(&civil->hour) || !Take(':') || !TakeTwoDigits(&civil->minute)) return false;
    if (!Take(':')) return true;
    if (!TakeTwoDigits(&civil->second)) return false;
    return !Take('.') || ReadFraction(&civil->micros);
  }

  bool ReadFraction(int* micros) {
    const size_t digits = CountDigits();
    if (digits == 0 || digits > 9) return false;
    int64_t nanos = TakeNumber(digits);
    for (size_t i = digits; i < 9; ++i) nanos *= 10;
    if (nanos % 1000 != 0) {
      problem_ = "precision would be lost, times are kept in microseconds (6 fraction digits)";
      return false;
    }
    *micros = static_cast<int>(nanos / 1000);
    return true;
  }

  bool ReadOffset(int64_t* minutes, bool* zoned) {
    if (rest_.empty()) return true;
    *zoned = true;
    if (Take('Z') || Take('z')) return true;
    const bool negative = Take('-');
    if (!negative && !Take('+')) return false;
    int hour = 0, minute = 0;
    if (!TakeTwoDigits(&hour)) return false;
    if (!rest_.empty()) {
      Take(':');
      if (!TakeTwoDigits(&minute)) return false;
    }
    *minutes = hour * 60 + minute;
    if (minute > 59 || *minutes > kMaxOffsetMinutes) {
      problem_ = "the offset is not within 18:00 of UTC";
      return false;
    }
    if (negative) *minutes = -*minutes;
    return true;
  }

  const std::string_view text_;
  std::string_view rest_;
  std::string_view problem_;
};

}  // namespace

CivilTime CivilFromDays(int64_t days) {
  // Into cycles before shifting, so that no int64 overflows.
  int64_t cycle = FloorDiv(days, kDaysPerCycle);
  const int64_t shifted = FloorMod(days, kDaysPerCycle) + kEpochFromMarchYear0;
  cycle += shifted / kDaysPerCycle;
  const int64_t day_of_cycle = shifted % kDaysPerCycle;
  // Takes the leap days out: one each 4 years, not each 100, again each 400.
  const int64_t year_of_cycle =
      (day_of_cycle - day_of_cycle / 1'460 + day_of_cycle / 36'524 - day_of_cycle / 146'096) / 365;
  const int64_t day_of_year =
      day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
  const int64_t march_month = (5 * day_of_year + 2) / 153;
  CivilTime civil;
  civil.day = static_cast<int>(day_of_year - (153 * march_month + 2) / 5 + 1);
  civil.month = static_cast<int>(march_month < 10 ? march_month + 3 : march_month - 9);
  civil.year = cycle * 400 + year_of_cycle + (civil.month <= 2 ? 1 : 0);
  return civil;
}

CivilTime ToCivil(int64_t micros) {
  CivilTime civil = CivilFromDays(DaysFromMicros(micros));
  const int64_t of_day = FloorMod(micros, kMicrosPerDay);
  civil.hour = static_cast<int>(of_day / kMicrosPerHour);
  civil.minute = static_cast<int>(of_day / kMicrosPerMinute % 60);
  civil.second = static_cast<int>(of_day / kMicrosPerSecond % 60);
  civil.micros = static_cast<int>(of_day % kMicrosPerSecond);
  return civil;
}

Result<int64_t> FromCivil(const CivilTime& c) {
  const auto check = [](std::string_view name, int64_t value, int64_t low, int64_t high) -> Status {
    if (value >= low && value <= high) return Status::OK();
    return InvalidArgument("{} is {}, accepted is {} to {}", name, value, low, high);
  };
  TL_RETURN_NOT_OK(check("year", c.year, kMinYear, kMaxYear));
  TL_RETURN_NOT_OK(check("month", c.month, 1, 12));
  TL_RETURN_NOT_OK(check("day", c.day, 1, DaysInMonth(c.year, c.month)));
  TL_RETURN_NOT_OK(check("hour", c.hour, 0, 23));
  TL_RETURN_NOT_OK(check("minute", c.minute, 0, 59));
  TL_RETURN_NOT_OK(check("second", c.second, 0, 59));
  TL_RETURN_NOT_OK(check("microsecond", c.micros, 0, kMicrosPerSecond - 1));

  int64_t seconds = DaysFromCivil(c.year, c.month, c.day) * 86'400 + c.hour * 3'600 +
                    c.minute * 60 + c.second;
  int64_t fraction = c.micros;
  // Count from the later second: the first second of the range starts below int64's minimum.
  if (seconds < 0) {
    ++seconds;
    fraction -= kMicrosPerSecond;
  }
  int64_t micros;
  if (__builtin_mul_overflow(seconds, kMicrosPerSecond, &micros) ||
      __builtin_add_overflow(micros, fraction, &micros)) {
    return InvalidArgument("the instant is out of range for microseconds, {} to {}",
                           FormatTimestamp(INT64_MIN), FormatTimestamp(INT64_MAX));
  }
  return micros;
}

int64_t MonthsFromMicros(int64_t micros) {
  const CivilTime civil = CivilFromDays(DaysFromMicros(micros));
  return (civil.year - 1970) * 12 + civil.month - 1;
}

int64_t YearsFromMicros(int64_t micros) {
  return CivilFromDays(DaysFromMicros(micros)).year - 1970;
}

Result<int64_t> MicrosFromHours(int64_t hours) { return StartOf(hours, kMicrosPerHour, "hour"); }

Result<int64_t> MicrosFromDays(int64_t days) { return StartOf(days, kMicrosPerDay, "day"); }

Result<int64_t> MicrosFromMonths(int64_t months) {
  const int month = static_cast<int>(FloorMod(months, 12)) + 1;
  return StartOfMonth(FloorDiv(months, 12), month, months, "month");
}

Result<int64_t> MicrosFromYears(int64_t years) { return StartOfMonth(years, 1, years, "year"); }

std::string HourLabel(int64_t hours) {
  return fmt::format("{}-{:02}", DayLabel(FloorDiv(hours, 24)), FloorMod(hours, 24));
}

std::string DayLabel(int64_t days) {
  const CivilTime civil = CivilFromDays(days);
  return fmt::format("{}-{:02}-{:02}", YearText(civil.year), civil.month, civil.day);
}

std::string MonthLabel(int64_t months) {
  return fmt::format("{}-{:02}", YearLabel(FloorDiv(months, 12)), FloorMod(months, 12) + 1);
}

std::string YearLabel(int64_t years) {
  int64_t year;
  // No instant has such a year, but a foreign manifest may hold any number.
  if (__builtin_add_overflow(years, 1970, &year)) year = INT64_MAX;
  return YearText(year);
}

std::string FormatTimestamp(int64_t micros, bool zoned) {
  const CivilTime c = ToCivil(micros);
  std::string text;
  if (c.year >= 0 && c.year <= 9999) {
    text = fmt::format("{:04}", c.year);
  } else {
    text = fmt::format("{}{:04}", c.year < 0 ? '-' : '+', c.year < 0 ? -c.year : c.year);
  }
  text += fmt::format("-{:02}-{:02}T{:02}:{:02}:{:02}", c.month, c.day, c.hour, c.minute, c.second);
  if (c.micros % 1'000 != 0) {
    text += fmt::format(".{:06}", c.micros);
  } else if (c.micros != 0) {
    text += fmt::format(".{:03}", c.micros / 1'000);
  }
  if (zoned) text += 'Z';
  return text;
}

Result<ParsedTimestamp> ParseTimestamp(std::string_view text) {
  return TimestampParser(text).Parse();
}

}  // namespace timelake

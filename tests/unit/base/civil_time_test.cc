#include "base/civil_time.h"

#include <random>

#include <gtest/gtest.h>

namespace timelake {
namespace {

__extension__ using Int128 = __int128;

int64_t WideFloorDiv(int64_t value, int64_t divisor) {
  const Int128 rest = ((Int128{value} % divisor) + divisor) % divisor;
  return static_cast<int64_t>((Int128{value} - rest) / divisor);
}

// Random instants of every magnitude, from microseconds around 1970 to the ends of the range.
class Instants {
 public:
  int64_t Next() {
    const int64_t bits = static_cast<int64_t>(engine_());
    return bits >> (engine_() % 64);
  }

 private:
  std::mt19937_64 engine_{20260103};
};

constexpr int64_t kEdges[] = {
    INT64_MIN, INT64_MIN + 1, -kMicrosPerDay - 1, -kMicrosPerDay, -1, 0, 1,
    kMicrosPerDay - 1, kMicrosPerDay, INT64_MAX - 1, INT64_MAX,
};

int64_t Parsed(std::string_view text) {
  const auto parsed = ParseTimestamp(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
  return parsed.ok() ? parsed->micros : INT64_MIN;
}

std::string ParseError(std::string_view text) {
  const auto parsed = ParseTimestamp(text);
  EXPECT_FALSE(parsed.ok()) << text << " was read as " << (parsed.ok() ? parsed->micros : 0);
  if (parsed.ok()) return "";
  EXPECT_EQ(KindOf(parsed.status()), ErrorKind::kInvalidArgument);
  return MessageOf(parsed.status());
}

// apache/iceberg 1680, duckdb/duckdb-iceberg PR 1361, ClickHouse/ClickHouse 119579.
TEST(CivilTime, TransformsFloorBefore1970) {
  struct Row {
    int64_t us, year, month, day, hour;
    const char* label;
  };
  const Row kRows[] = {
      {-1, -1, -1, -1, -1, "1969-12-31"},
      {0, 0, 0, 0, 0, "1970-01-01"},
      {-86400000000, -1, -1, -1, -24, "1969-12-31"},
      {-86400000001, -1, -1, -2, -25, "1969-12-30"},
      {-2678401000000, -1, -2, -32, -745, "1969-11-30"},
      {1709251199000000, 54, 649, 19782, 474791, "2024-02-29"},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.us);
    EXPECT_EQ(YearsFromMicros(row.us), row.year);
    EXPECT_EQ(MonthsFromMicros(row.us), row.month);
    EXPECT_EQ(DaysFromMicros(row.us), row.day);
    EXPECT_EQ(HoursFromMicros(row.us), row.hour);
    EXPECT_EQ(DayLabel(DaysFromMicros(row.us)), row.label);
  }
}

TEST(CivilTime, FloorDivRoundsDown) {
  EXPECT_EQ(FloorDiv(-1, 10), -1);
  EXPECT_EQ(FloorDiv(-10, 10), -1);
  EXPECT_EQ(FloorDiv(-11, 10), -2);
  EXPECT_EQ(FloorDiv(INT64_MIN, 1), INT64_MIN);
  EXPECT_EQ(FloorMod(-1, 10), 9);
  EXPECT_EQ(FloorMod(-10, 10), 0);
  EXPECT_EQ(FloorMod(INT64_MIN, INT64_MAX), INT64_MAX - 1);
}

TEST(CivilTime, KnownDates) {
  EXPECT_EQ(ToCivil(-1), (CivilTime{1969, 12, 31, 23, 59, 59, 999999}));
  EXPECT_EQ(ToCivil(951782400000000), (CivilTime{2000, 2, 29, 0, 0, 0, 0}));
  EXPECT_EQ(ToCivil(-62167219200000000), (CivilTime{0, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(ToCivil(INT64_MAX), (CivilTime{294247, 1, 10, 4, 0, 54, 775807}));
  EXPECT_EQ(ToCivil(INT64_MIN), (CivilTime{-290308, 12, 21, 19, 59, 5, 224192}));
}

// Walks day by day through whole cycles of 400 years with a calendar that only counts up.
TEST(CivilTime, EveryDayFollowsTheOneBefore) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  CivilTime expected{-401, 1, 1, 0, 0, 0, 0};
  int64_t day = FromCivil(expected).ValueOrDie() / kMicrosPerDay;
  for (; expected.year < 2401; ++day) {
    ASSERT_EQ(CivilFromDays(day), expected);
    ASSERT_EQ(FromCivil(expected).ValueOrDie(), day * kMicrosPerDay);
    const int64_t y = expected.year;
    const bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    const int length = kDays[expected.month - 1] + (leap && expected.month == 2 ? 1 : 0);
    if (++expected.day > length) {
      expected.day = 1;
      if (++expected.month > 12) {
        expected.month = 1;
        ++expected.year;
      }
    }
  }
}

TEST(CivilTime, RoundTripsEveryInstant) {
  const auto check = [](int64_t us) {
    const CivilTime civil = ToCivil(us);
    ASSERT_EQ(FromCivil(civil).ValueOrDie(), us);
    const auto parsed = ParseTimestamp(FormatTimestamp(us));
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    ASSERT_EQ(parsed->micros, us);
    ASSERT_TRUE(parsed->zoned);
    ASSERT_EQ(ParseTimestamp(FormatTimestamp(us, false)).ValueOrDie().micros, us);
    ASSERT_FALSE(ParseTimestamp(FormatTimestamp(us, false)).ValueOrDie().zoned);
  };
  Instants instants;
  for (int64_t us : kEdges) check(us);
  for (int i = 0; i < 100'000; ++i) check(instants.Next());
}

TEST(CivilTime, TransformsAgreeWithWideArithmetic) {
  const auto check = [](int64_t us) {
    ASSERT_EQ(HoursFromMicros(us), WideFloorDiv(us, 3'600'000'000));
    ASSERT_EQ(DaysFromMicros(us), WideFloorDiv(us, 86'400'000'000));
    const CivilTime civil = ToCivil(us);
    ASSERT_EQ(YearsFromMicros(us), civil.year - 1970);
    ASSERT_EQ(MonthsFromMicros(us), (civil.year - 1970) * 12 + civil.month - 1);
  };
  Instants instants;
  for (int64_t us : kEdges) check(us);
  for (int i = 0; i < 100'000; ++i) check(instants.Next());
}

TEST(CivilTime, StartsAreTheFirstInstantOfTheirOrdinal) {
  const auto check = [](auto ordinal_of, auto start_of, int64_t us) {
    const int64_t ordinal = ordinal_of(us);
    const auto start = start_of(ordinal);
    const auto next = start_of(ordinal + 1);
    if (start.ok()) {
      ASSERT_LE(*start, us);
      ASSERT_EQ(ordinal_of(*start), ordinal);
      if (*start > INT64_MIN) { ASSERT_EQ(ordinal_of(*start - 1), ordinal - 1); }
    } else {
      ASSERT_EQ(ordinal, ordinal_of(INT64_MIN));  // only the first unit is cut off
    }
    if (next.ok()) {
      ASSERT_GT(*next, us);
    } else {
      ASSERT_EQ(ordinal, ordinal_of(INT64_MAX));
    }
  };
  const auto check_all = [&](int64_t us) {
    check(HoursFromMicros, MicrosFromHours, us);
    check(DaysFromMicros, MicrosFromDays, us);
    check(MonthsFromMicros, MicrosFromMonths, us);
    check(YearsFromMicros, MicrosFromYears, us);
  };
  Instants instants;
  for (int64_t us : kEdges) check_all(us);
  for (int i = 0; i < 20'000; ++i) check_all(instants.Next());
}

TEST(CivilTime, StartsOutOfRangeAreErrors) {
  for (auto start_of : {MicrosFromHours, MicrosFromDays, MicrosFromMonths, MicrosFromYears}) {
    for (int64_t ordinal : {INT64_MIN, INT64_MAX, int64_t{-1} << 32, int64_t{1} << 32}) {
      EXPECT_EQ(KindOf(start_of(ordinal).status()), ErrorKind::kInvalidArgument) << ordinal;
    }
  }
}

TEST(CivilTime, ImpossibleFieldsAreErrors) {
  const CivilTime kImpossible[] = {
      {2023, 2, 29, 0, 0, 0, 0},  {1900, 2, 29, 0, 0, 0, 0},  {2024, 0, 1, 0, 0, 0, 0},
      {2024, 13, 1, 0, 0, 0, 0},  {2024, 1, 0, 0, 0, 0, 0},   {2024, 4, 31, 0, 0, 0, 0},
      {2024, 1, 1, 24, 0, 0, 0},  {2024, 1, 1, 0, 60, 0, 0},  {2024, 1, 1, 0, 0, 60, 0},
      {2024, 1, 1, 0, 0, 0, -1},  {2024, 1, 1, 0, 0, 0, 1'000'000},
      {INT64_MAX, 1, 1, 0, 0, 0, 0}, {INT64_MIN, 1, 1, 0, 0, 0, 0},
      {294247, 1, 10, 4, 0, 54, 775808}, {-290308, 12, 21, 19, 59, 5, 224191},
  };
  for (const CivilTime& civil : kImpossible) {
    EXPECT_FALSE(FromCivil(civil).ok()) << civil.year << "-" << civil.month << "-" << civil.day;
  }
}

TEST(CivilTime, Labels) {
  EXPECT_EQ(DayLabel(20456), "2026-01-03");
  EXPECT_EQ(HourLabel(20456 * 24 + 5), "2026-01-03-05");
  EXPECT_EQ(HourLabel(-1), "1969-12-31-23");
  EXPECT_EQ(MonthLabel(56 * 12), "2026-01");
  EXPECT_EQ(MonthLabel(-1), "1969-12");
  EXPECT_EQ(YearLabel(56), "2026");
  EXPECT_EQ(YearLabel(987 - 1970), "0987");
  EXPECT_EQ(YearLabel(-1 - 1970), "-001");
  EXPECT_EQ(YearLabel(12345 - 1970), "12345");
  // Numbers that only a damaged manifest holds still print.
  for (int64_t ordinal : {INT64_MIN, INT64_MAX}) {
    EXPECT_FALSE(HourLabel(ordinal).empty() || DayLabel(ordinal).empty() ||
                 MonthLabel(ordinal).empty() || YearLabel(ordinal).empty());
  }
}

TEST(CivilTime, FormatsOnlyNeededFractionDigits) {
  EXPECT_EQ(FormatTimestamp(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatTimestamp(0, false), "1970-01-01T00:00:00");
  EXPECT_EQ(FormatTimestamp(120'000), "1970-01-01T00:00:00.120Z");
  EXPECT_EQ(FormatTimestamp(120'001), "1970-01-01T00:00:00.120001Z");
  EXPECT_EQ(FormatTimestamp(-1), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(FormatTimestamp(INT64_MAX), "+294247-01-10T04:00:54.775807Z");
  EXPECT_EQ(FormatTimestamp(INT64_MIN), "-290308-12-21T19:59:05.224192Z");
}

// apache/arrow 41268, duckdb/duckdb 13266, pandas-dev/pandas 56631.
TEST(CivilTime, ParsesIsoForms) {
  EXPECT_EQ(Parsed("2024-01-01 00:00:00+02:00"), 1704060000000000);
  EXPECT_EQ(Parsed("2024-01-01 00:00:00-0530"), 1704087000000000);
  EXPECT_EQ(Parsed("2024-01-01T00:00:00+02"), 1704060000000000);
  EXPECT_EQ(Parsed("2024-01-01T00:00Z"), 1704067200000000);
  EXPECT_EQ(Parsed("2024-01-01"), 1704067200000000);
  EXPECT_EQ(Parsed("2024-01-01t00:00z"), 1704067200000000);
  EXPECT_EQ(Parsed("2022-02-02 02:02:02.12345") % kMicrosPerSecond, 123450);
  EXPECT_EQ(Parsed("2022-02-02 02:02:02.1") % kMicrosPerSecond, 100000);
  EXPECT_EQ(Parsed("2022-02-02 02:02:02.123456000Z") % kMicrosPerSecond, 123456);
  EXPECT_EQ(Parsed("1969-12-31T23:59:59.999999"), -1);
  EXPECT_TRUE(ParseTimestamp("2024-01-01T00:00-00:00").ValueOrDie().zoned);
  EXPECT_FALSE(ParseTimestamp("2024-01-01T00:00").ValueOrDie().zoned);
  EXPECT_FALSE(ParseTimestamp("2024-01-01").ValueOrDie().zoned);
}

TEST(CivilTime, ParseErrorsNameTheText) {
  for (const char* text :
       {"", " ", "01/02/2024", "2024", "2024-1-1", "20240101", "2024-01-01Z", "2024-01-01T",
        "2024-01-01T00", "2024-01-01  00:00", "2024-01-01T00:00:00.", "2024-01-01T00:00:0",
        "2024-01-01T00:00:00.1234567890", "2024-01-01T00:00:00 UTC", "2024-01-01T00:00+",
        "2024-01-01T00:00+2", "2024-01-01T00:00+02:", "2024-01-01T00:00+02:0", "24-01-01",
        "2024-01-01T00:00Zx", "2024-01-01T00:00:00,5", "12345-01-01", "+1234567-01-01",
        "2023-02-29", "2024-13-01", "2024-00-10", "2024-01-32", "2024-01-01T24:00",
        "2024-01-01T00:60", "2024-01-01T00:00:60", "2024-01-01T00:00+18:01",
        "2024-01-01T00:00+02:60", "+294247-01-10T04:00:54.775808Z",
        "+294247-01-10T04:00:54-01:00", "-290308-12-21T19:59:05.224192+00:01", "+999999-01-01"}) {
    EXPECT_NE(ParseError(text).find('"' + std::string(text) + '"'), std::string::npos) << text;
  }
  EXPECT_NE(ParseError("2024-01-01T00:00:00.1234567").find("precision would be lost"),
            std::string::npos);
  EXPECT_EQ(ParseError("2023-02-29"),
            "timestamp \"2023-02-29\": day is 29, accepted is 1 to 28");
}

}  // namespace
}  // namespace timelake

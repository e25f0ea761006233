// time_bucket and date_trunc against DuckDB's own: the same statement runs on a plain DuckDB
// instance.

#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <duckdb/main/connection.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/main/materialized_query_result.hpp>

#include "sql/functions.h"
#include "sql/time_floor.h"

namespace timelake::sql {
namespace {

constexpr auto npos = std::string::npos;

class Functions : public ::testing::Test {
 protected:
  Functions() : own_(nullptr), plain_(nullptr), ours_(own_), theirs_(plain_) {
    RegisterFunctions(*own_.instance);
    Both("SET TimeZone = 'UTC'");
    Both("SET threads = 1");
  }

  void Both(const std::string& text) {
    for (auto* connection : {&ours_, &theirs_}) {
      const auto result = connection->Query(text);
      ASSERT_FALSE(result->HasError()) << text << "\n" << result->GetError();
    }
  }

  // Instants of all kinds: near now, before 1970, around bucket edges, far past and future.
  void FillTimes() {
    std::mt19937_64 random(20260103);
    std::string values;
    const auto add = [&](int64_t micros) {
      values += fmt::format("{}({})", values.empty() ? "" : ",", micros);
    };
    constexpr int64_t kYear9999 = 253402300799999999;
    for (int i = 0; i < 300; ++i) {
      add(static_cast<int64_t>(random() % 4'000'000'000'000'000) - 2'000'000'000'000'000);
      add(static_cast<int64_t>(random() % kYear9999));
      add(static_cast<int64_t>(random() % 60) * 86'400'000'000 * 30);
      add(-static_cast<int64_t>(random() % 60'000'000'000'000'000));
    }
    for (const int64_t micros : {int64_t{0}, int64_t{-1}, int64_t{1}, int64_t{946857600000000},
                                 int64_t{946857599999999}, kYear9999, int64_t{-86400000000}}) {
      add(micros);
    }
    Both("CREATE TABLE micros(m BIGINT)");
    Both("INSERT INTO micros VALUES " + values + ", (NULL)");
    Both(
        "CREATE TABLE times AS SELECT make_timestamp(m) AS ts, make_timestamptz(m) AS tz, m "
        "FROM micros");
    Both("INSERT INTO times VALUES ('infinity', 'infinity', 1), ('-infinity', '-infinity', 2)");
  }

  void ExpectSame(const std::string& text) {
    const auto own = ours_.Query(text);
    const auto plain = theirs_.Query(text);
    ASSERT_EQ(own->HasError(), plain->HasError())
        << text << "\nours: " << own->GetError() << "\ntheirs: " << plain->GetError();
    if (own->HasError()) return;
    ASSERT_EQ(own->types, plain->types) << text;
    ASSERT_EQ(own->RowCount(), plain->RowCount()) << text;
    int shown = 0;
    for (duckdb::idx_t row = 0; row < own->RowCount(); ++row) {
      const auto a = own->GetValue(0, row), b = plain->GetValue(0, row);
      if (duckdb::Value::NotDistinctFrom(a, b) || ++shown > 5) continue;
      ADD_FAILURE() << text << " row " << row << ": " << a.ToString() << " instead of "
                    << b.ToString();
    }
  }

  duckdb::DuckDB own_, plain_;
  duckdb::Connection ours_, theirs_;
};

TEST_F(Functions, TimeBucketOfAnyWidth) {
  FillTimes();
  for (const char* width :
       {"1 microsecond", "7 milliseconds", "1 second", "90 seconds", "5 minutes",
        "15m",           "1 hour",         "7 hours",  "1 day",      "3 days",
        "1 week",        "1 month",        "3 months", "1 year",     "10 years",
        "1 month 1 day", "-1 hour",        "0 hours",  "1000 years", "100000 days"}) {
    for (const char* column : {"ts", "tz"}) {
      ExpectSame(fmt::format("SELECT time_bucket(INTERVAL '{}', {}) FROM times", width, column));
    }
  }
}

TEST_F(Functions, TimeBucketInAnotherSessionZone) {
  FillTimes();
  Both("SET TimeZone = 'America/St_Johns'");
  for (const char* width : {"5 minutes", "7 hours", "1 day", "1 week", "1 month", "1 year"}) {
    ExpectSame(fmt::format("SELECT time_bucket(INTERVAL '{}', tz) FROM times", width));
    // Since 1946 without a change of its clock.
    ExpectSame(fmt::format(
        "SELECT time_bucket(INTERVAL '{}', tz, 'Asia/Kolkata') FROM times WHERE m > 0", width));
    ExpectSame(fmt::format("SELECT time_bucket(INTERVAL '{}', ts) FROM times", width));
  }
}

TEST_F(Functions, TimeBucketWithOriginOrOffset) {
  FillTimes();
  for (const char* width : {"5 minutes", "7 hours", "3 days", "2 months", "1 year"}) {
    for (const char* type : {"TIMESTAMP", "TIMESTAMPTZ"}) {
      const char* column = std::string(type) == "TIMESTAMP" ? "ts" : "tz";
      for (const char* origin : {"1970-01-01", "2000-01-03 00:00:01", "1969-07-20 20:17:40",
                                 "2026-02-28 23:59:59.999999", "infinity"}) {
        ExpectSame(fmt::format("SELECT time_bucket(INTERVAL '{}', {}, {} '{}') FROM times", width,
                               column, type, origin));
      }
      for (const char* offset :
           {"1 second", "-1 hour", "36 hours", "2 days", "1 month", "-1 day"}) {
        // Months do not move a grid of fixed widths.
        if (std::string(offset) == "1 month" && std::string(width).find("month") == npos) continue;
        ExpectSame(fmt::format("SELECT time_bucket(INTERVAL '{}', {}, INTERVAL '{}') FROM times",
                               width, column, offset));
      }
    }
    ExpectSame(fmt::format("SELECT time_bucket(INTERVAL '{}', ts, ts) FROM times", width));
    ExpectSame(
        fmt::format("SELECT time_bucket(INTERVAL '{}', tz, NULL::TIMESTAMPTZ) FROM times", width));
  }
}

// Days and longer by a zone's clock are DuckDB's, too. Its shorter widths do not follow the clock,
// and where that is set back onto midnight (Havana, the Azores) it puts the first hour of the day
// into the day before.
TEST_F(Functions, TimeBucketOfDaysInAZone) {
  Both(
      "CREATE TABLE times AS SELECT make_timestamptz(m) AS tz, m FROM "
      "(SELECT 1000000 * (i * 29989 + 1480000000) AS m FROM range(2100) r(i)) s");
  for (const char* zone : {"Europe/Paris", "America/New_York", "Asia/Beirut", "Australia/Lord_Howe",
                           "America/Sao_Paulo", "Africa/Casablanca", "Asia/Tehran"}) {
    for (const char* width : {"1 day", "3 days", "1 week", "1 month", "3 months", "1 year"}) {
      ExpectSame(
          fmt::format("SELECT time_bucket(INTERVAL '{}', tz, '{}') FROM times", width, zone));
    }
  }
}

// What must hold of every bucket in a zone: it holds its own start, lies on the grid of what the
// clock shows, and buckets of later times are not earlier.
TEST_F(Functions, TimeBucketByTheClockOfAZone) {
  Both(
      "CREATE TABLE times AS SELECT make_timestamptz(m) AS tz FROM "
      "(SELECT 1000000 * (i * 1009 + 1700000000) AS m FROM range(32000) r(i)) s");
  for (const char* zone : {"Europe/Paris", "America/New_York", "Atlantic/Azores",
                           "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu", "UTC"}) {
    for (const char* width : {"15m", "20 min", "1h", "2h", "6h", "12h", "1d", "1mo"}) {
      const auto result = ours_.Query(fmt::format(
          "SELECT count(*) FILTER (b > tz), count(*) FILTER (time_bucket('{0}', b, '{1}') <> b), "
          "count(*) FILTER (b < before), "
          // A start that the clock did not show is the instant of the change.
          "count(*) FILTER (timezone('{1}', b) <> time_bucket('{0}', timezone('{1}', tz)) AND "
          "  timezone('{1}', b) - timezone('{1}', b - INTERVAL 1 MICROSECOND) = "
          "  INTERVAL 1 MICROSECOND) "
          "FROM (SELECT *, lag(b) OVER (ORDER BY tz) AS before FROM "
          "(SELECT tz, time_bucket('{0}', tz, '{1}') AS b FROM times) s) s",
          width, zone));
      ASSERT_FALSE(result->HasError()) << result->GetError();
      for (int column = 0; column < 4; ++column) {
        EXPECT_EQ(result->GetValue(column, 0).GetValue<int64_t>(), 0)
            << zone << " " << width << " column " << column;
      }
    }
  }
}

TEST_F(Functions, TimeBucketWidthsThatVaryByRow) {
  FillTimes();
  ExpectSame(
      "SELECT time_bucket(CASE WHEN m % 2 = 0 THEN INTERVAL 1 HOUR ELSE INTERVAL 1 DAY END, "
      "tz) FROM times");
  ExpectSame("SELECT time_bucket(NULL::INTERVAL, tz) FROM times");
  ExpectSame("SELECT time_bucket(INTERVAL 1 HOUR, tz::DATE) FROM times WHERE m > 10");
}

TEST_F(Functions, DateTruncOfAnyUnit) {
  FillTimes();
  for (const char* unit :
       {"microsecond", "millisecond", "ms",    "second", "s",       "minute", "m",       "hour",
        "h",           "day",         "week",  "month",  "quarter", "year",   "isoyear", "decade",
        "century",     "millennium",  "epoch", "dow",    "doy",     "nosuch", "DAY"}) {
    for (const char* column : {"ts", "tz"}) {
      ExpectSame(fmt::format("SELECT date_trunc('{}', {}) FROM times", unit, column));
      ExpectSame(fmt::format("SELECT datetrunc('{}', {}) FROM times", unit, column));
    }
  }
  ExpectSame("SELECT date_trunc(CASE WHEN m % 2 = 0 THEN 'day' ELSE 'month' END, tz) FROM times");
  ExpectSame("SELECT date_trunc(NULL, tz) FROM times");
}

TEST_F(Functions, DateTruncFollowsTheSessionZone) {
  FillTimes();
  for (const char* zone : {"Europe/Paris", "Asia/Kathmandu", "Etc/UTC", "GMT"}) {
    Both(fmt::format("SET TimeZone = '{}'", zone));
    for (const char* unit : {"minute", "hour", "day", "week", "month", "quarter", "year"}) {
      ExpectSame(fmt::format("SELECT date_trunc('{}', tz) FROM times", unit));
      ExpectSame(fmt::format("SELECT date_trunc('{}', ts) FROM times", unit));
    }
  }
  Both("SET TimeZone = 'UTC'");
  Both("SET Calendar = 'japanese'");
  for (const char* unit : {"minute", "day", "week", "month", "year"}) {
    ExpectSame(fmt::format("SELECT date_trunc('{}', tz) FROM times", unit));
  }
}

TEST_F(Functions, AtTheEndsOfTime) {
  Both(
      "CREATE TABLE times AS SELECT * FROM (VALUES "
      "(TIMESTAMP '290309-12-22 (BC) 00:00:00', TIMESTAMPTZ '290309-12-22 (BC) 00:00:00+00'), "
      "(TIMESTAMP '294247-01-10 04:00:54.775806', TIMESTAMPTZ '294247-01-10 04:00:54.775806+00')"
      ") v(ts, tz)");
  for (const char* width : {"1 second", "1 hour", "10000 days"}) {
    for (const char* column : {"ts", "tz"}) {
      // DuckDB's answers there are partly errors; ours must be one or the right one, and never
      // crash.
      const auto result = ours_.Query(
          fmt::format("SELECT time_bucket(INTERVAL '{}', {}) <= {} FROM times WHERE {} > "
                      "TIMESTAMP '2000-01-01'",
                      width, column, column, column));
      if (!result->HasError()) {
        EXPECT_TRUE(result->GetValue(0, 0).GetValue<bool>());
      }
      (void)ours_.Query(
          fmt::format("SELECT time_bucket(INTERVAL '{}', {}) FROM times", width, column));
      (void)ours_.Query(fmt::format("SELECT date_trunc('year', {}) FROM times", column));
    }
  }
}

TEST(TimeFloor, EveryInstantLiesInItsBucket) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    const auto time = static_cast<int64_t>(random());
    const auto width = static_cast<int64_t>(random() >> (1 + random() % 62)) + 1;
    const auto origin = static_cast<int64_t>(random());
    auto grid = TimeFloor::Fixed(width, origin);
    int64_t bucket = 0;
    if (!grid.Apply(time, &bucket)) {
      EXPECT_LT(time, std::numeric_limits<int64_t>::min() + width);
      continue;
    }
    ASSERT_LE(bucket, time);
    ASSERT_LT(static_cast<uint64_t>(time) - static_cast<uint64_t>(bucket),
              static_cast<uint64_t>(width));
    ASSERT_EQ(FloorMod(bucket, width), FloorMod(origin, width));
    int64_t again = 0;
    ASSERT_TRUE(grid.Apply(bucket, &again));
    ASSERT_EQ(again, bucket);
  }
}

}  // namespace
}  // namespace timelake::sql

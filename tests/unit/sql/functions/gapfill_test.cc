// time_bucket_gapfill against generate_series and joins on random readings, and the series of
// missing buckets against Floor. The seed is printed; TL_SEED sets it.

#include <cstdlib>
#include <random>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <duckdb/main/connection.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/main/materialized_query_result.hpp>

#include "base/civil_time.h"
#include "sql/functions.h"
#include "sql/functions/gap_series.h"

namespace timelake::sql {
namespace {

uint64_t Seed() {
  const char* given = std::getenv("TL_SEED");
  static const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  return seed;
}

TEST(GapSeries, EveryMissingBucketOnce) {
  std::printf("seed %llu\n", static_cast<unsigned long long>(Seed()));
  std::mt19937_64 random(Seed());
  for (int run = 0; run < 300; ++run) {
    BucketGrid::Options options;
    options.width = {0, 1 + static_cast<int64_t>(random() % 7)};
    if (random() % 4 == 0) options.width = {1 + static_cast<int64_t>(random() % 3), 0};
    const int64_t scale = options.width.months ? 20 * kMicrosPerDay : 1;
    auto grid = BucketGrid::Make(options).ValueOrDie();
    const auto any = [&] { return scale * (static_cast<int64_t>(random() % 9000) - 4500); };
    std::optional<int64_t> from, to;
    if (random() % 3) from = any();
    if (random() % 3) to = any();
    const GapRange range = MakeGapRange(&grid, from, to);

    // The rows of a group, perhaps none.
    std::set<int64_t> rows;
    for (uint64_t i = random() % 6; i > 0; --i) {
      int64_t bucket = 0;
      ASSERT_TRUE(grid.Floor(any(), &bucket));
      rows.insert(bucket);
    }
    std::multiset<int64_t> filled(rows.begin(), rows.end());
    const auto fill = [&](const GapRow& row) {
      std::vector<int64_t> bands, buckets;
      ASSERT_TRUE(AppendGapBands(&grid, range, row, &bands));
      for (const int64_t band : bands) {
        const size_t before = buckets.size();
        AppendGapBuckets(&grid, range, row, band, &buckets);
        ASSERT_LE(buckets.size() - before, static_cast<size_t>(kGapBand));
      }
      filled.insert(buckets.begin(), buckets.end());
    };
    for (auto at = rows.begin(); at != rows.end(); ++at) {
      GapRow row;
      row.bucket = *at;
      if (at != rows.begin()) row.previous = *std::prev(at);
      if (std::next(at) != rows.end()) row.next = *std::next(at);
      fill(row);
    }
    GapRow stands_in;
    if (!rows.empty()) stands_in.previous = *rows.rbegin();
    fill(stands_in);

    // A bound that is not known is the group's own first or last bucket.
    std::set<int64_t> expected = rows;
    if (!(from && to && *from > *to) && (!rows.empty() || (from && to))) {
      int64_t begin = rows.empty() ? 0 : *rows.begin(), end = rows.empty() ? 0 : *rows.rbegin();
      if (from) {
        ASSERT_TRUE(grid.Floor(*from, &begin));
      }
      if (to) {
        ASSERT_TRUE(grid.Floor(*to, &end));
      }
      for (int64_t time = begin; time <= end + scale; time += scale) {
        int64_t bucket = 0;
        ASSERT_TRUE(grid.Floor(time, &bucket));
        if (bucket >= begin && bucket <= end) expected.insert(bucket);
      }
    }
    ASSERT_EQ(filled, std::multiset<int64_t>(expected.begin(), expected.end())) << "run " << run;
  }
}

class GapfillQueries : public ::testing::Test {
 protected:
  GapfillQueries() : database_(nullptr), connection_(database_) {
    RegisterFunctions(*database_.instance);
    std::printf("seed %llu\n", static_cast<unsigned long long>(Seed()));
    Run("SET threads = 4");
    Run("SET TimeZone = 'UTC'");
    Run(fmt::format("SELECT setseed({})", static_cast<double>(Seed() % 1000003) / 1000003));
    Run("CREATE TABLE r AS SELECT TIMESTAMPTZ '2025-10-20 00:00:00+00' + "
        "INTERVAL 1 SECOND * (random() * 1200000)::INT AS t, (random() * 30)::INT AS k, "
        "CASE WHEN random() < 0.2 THEN NULL ELSE round(random() * 100) END AS v FROM range(4000)");
  }

  void Run(const std::string& text) {
    const auto result = connection_.Query(text);
    ASSERT_FALSE(result->HasError()) << text << "\n" << result->GetError();
  }

  // Rows that only one of the queries has, with floats rounded.
  void ExpectSame(const std::string& ours, const std::string& plain) {
    const auto text = fmt::format(
        "WITH a AS ({}), b AS ({}) SELECT (SELECT count(*) FROM (FROM a EXCEPT ALL FROM b)), "
        "(SELECT count(*) FROM (FROM b EXCEPT ALL FROM a)), (SELECT count(*) FROM b)",
        ours, plain);
    const auto result = connection_.Query(text);
    ASSERT_FALSE(result->HasError()) << text << "\n" << result->GetError();
    EXPECT_EQ(result->GetValue(0, 0).GetValue<int64_t>(), 0) << text;
    EXPECT_EQ(result->GetValue(1, 0).GetValue<int64_t>(), 0) << text;
    EXPECT_GT(result->GetValue(2, 0).GetValue<int64_t>(), 10) << text;
  }

  duckdb::DuckDB database_;
  duckdb::Connection connection_;
};

TEST_F(GapfillQueries, AgainstJoins) {
  const std::string low = "TIMESTAMPTZ '2025-10-21 03:04:05+00'",
                    high = "TIMESTAMPTZ '2025-11-01 22:00:00+00'";
  // Off the middle between two numbers of six places, where the last bit would decide.
  const std::string six = " + 1.2345e-7, 6)";
  for (const std::string bucket : {"('7m', t)", "('1h', t)", "('6h', t, 'Europe/Paris')",
                                   "('1d', t, 'America/New_York')", "('90s', t)"}) {
    const auto args = bucket.substr(0, bucket.size() - 1);
    // Every bucket between the bounds has a multiple of 30 seconds in it.
    const auto series = fmt::format(
        "SELECT DISTINCT time_bucket{} AS b FROM (SELECT greatest(x, {}) AS t FROM "
        "range({} - INTERVAL 30 SECOND, {}, INTERVAL 30 SECOND) r(x))",
        bucket, low, low, high);
    const auto where = fmt::format("WHERE t >= {} AND t < {}", low, high);
    const auto plain = fmt::format(
        "WITH s AS ({0}), "
        "a AS (SELECT time_bucket{1} AS b, k, count(*) AS c, avg(v) AS v FROM r {2} "
        "GROUP BY 1, 2), j AS (SELECT s.b, k.k, a.c, a.v FROM s CROSS JOIN (SELECT DISTINCT k FROM "
        "a) k LEFT JOIN a USING (b, k)), w AS (SELECT *, "
        "last_value(v IGNORE NULLS) OVER (PARTITION BY k ORDER BY b) AS pv, "
        "last_value(CASE WHEN v IS NOT NULL THEN b END IGNORE NULLS) OVER (PARTITION BY k ORDER BY "
        "b) AS pt, first_value(v IGNORE NULLS) OVER (PARTITION BY k ORDER BY b ROWS "
        "BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS nv, first_value(CASE WHEN v IS "
        "NOT NULL THEN b END IGNORE "
        "NULLS) OVER (PARTITION BY k ORDER BY b ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) "
        "AS nt FROM j) SELECT b, k, c, round(v{3}, round(pv{3}, round(CASE WHEN v IS NOT NULL "
        "THEN v ELSE pv + (nv - pv) * ((epoch_us(b) - epoch_us(pt)) / (epoch_us(nt) - "
        "epoch_us(pt))) END{3} FROM w",
        series, bucket, where, six);
    ExpectSame(fmt::format("SELECT time_bucket_gapfill{0} AS b, k, count(*), round(avg(v){2}, "
                           "round(locf(avg(v)){2}, round(interpolate(avg(v)){2} FROM r {1} GROUP "
                           "BY b, k",
                           bucket, where, six),
               plain);
    // Bounds as arguments, and the filter in a sub-query.
    ExpectSame(
        fmt::format("SELECT time_bucket_gapfill{0}, {1}, {2}) AS b, k, count(*), round(avg(v){4}, "
                    "round(locf(avg(v)){4}, round(interpolate(avg(v)){4} FROM (SELECT * FROM r "
                    "{3} ORDER BY v) GROUP BY b, k",
                    args, low, high, where, six),
        plain);
    // No keys.
    ExpectSame(fmt::format("SELECT time_bucket_gapfill{} AS b, coalesce(sum(v), 0) FROM r {} GROUP "
                           "BY b",
                           bucket, where),
               fmt::format("SELECT s.b, coalesce(sum(r.v), 0) FROM ({}) s LEFT JOIN (SELECT * FROM "
                           "r {}) r ON s.b = time_bucket{} GROUP BY s.b",
                           series, where, bucket));
  }
}

}  // namespace
}  // namespace timelake::sql

// The aggregates against plain SQL on random readings: unordered, with equal times, NULL, NaN and
// infinite times, on several threads. The seed is printed; TL_SEED sets it.

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <duckdb/main/connection.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/main/materialized_query_result.hpp>

#include "sql/functions.h"
#include "sql/functions/histogram_bins.h"
#include "sql/functions/points.h"

namespace timelake::sql {
namespace {

uint64_t Seed() {
  const char* given = std::getenv("TL_SEED");
  static const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  return seed;
}

class Aggregates : public ::testing::Test {
 protected:
  Aggregates() : database_(nullptr), connection_(database_) {
    RegisterFunctions(*database_.instance);
    std::printf("seed %llu\n", static_cast<unsigned long long>(Seed()));
    Run("SET threads = 4");
    // A third of the groups has few readings, some none.
    Run(fmt::format("SELECT setseed({})", static_cast<double>(Seed() % 1000003) / 1000003));
    Run("CREATE TABLE points AS SELECT "
        "CASE WHEN random() < 0.01 THEN 100 + (random() * 40)::INT ELSE (random() * 20)::INT END "
        "g, "
        "CASE WHEN random() < 0.02 THEN NULL WHEN random() < 0.01 THEN 'infinity'::TIMESTAMP "
        "  ELSE TIMESTAMP '1969-12-31 23:50:00' + INTERVAL 1 SECOND * (random() * 4000)::INT END "
        "t, "
        "CASE WHEN random() < 0.05 THEN NULL WHEN random() < 0.001 THEN 'nan'::DOUBLE "
        "  ELSE round(random() * 100 - 30, (random() * 3)::INT) END v, "
        "CASE WHEN random() < 0.05 THEN NULL ELSE (random() * 1000)::BIGINT END n, "
        "CASE WHEN random() < 0.05 THEN NULL ELSE repeat(chr(97 + (random() * 3)::INT), "
        "  (random() * 20)::INT) END s FROM range(60000)");
    Run("CREATE VIEW finite AS SELECT * FROM points WHERE isfinite(t)");
    // One reading a time; for counters, without NaN.
    Run("CREATE VIEW mean AS SELECT g, t, max(v) v FROM finite WHERE v IS NOT NULL GROUP BY ALL");
    Run("CREATE VIEW real AS SELECT g, t, max(v) v FROM finite WHERE NOT isnan(v) GROUP BY ALL");
    Run("CREATE VIEW whole AS SELECT g, t, max(n) v FROM finite WHERE n IS NOT NULL GROUP BY ALL");
  }

  void Run(const std::string& text) {
    const auto result = connection_.Query(text);
    ASSERT_FALSE(result->HasError()) << text << "\n" << result->GetError();
  }

  // Both queries give (g, value); the groups without a row in the second one have NULL in the
  // first.
  void ExpectSame(const std::string& ours, const std::string& plain) {
    const auto text = fmt::format(
        "SELECT count(*), any_value(a.g), any_value(a.x::VARCHAR), any_value(b.x::VARCHAR) "
        "FROM ({}) a(g, x) FULL JOIN ({}) b(g, x) ON a.g = b.g WHERE a.x IS DISTINCT FROM b.x "
        "AND coalesce(abs(TRY_CAST(a.x::VARCHAR AS DOUBLE) - TRY_CAST(b.x::VARCHAR AS DOUBLE)) > "
        "1e-9 * greatest(1, abs(TRY_CAST(b.x::VARCHAR AS DOUBLE))), true)",
        ours, plain);
    const auto result = connection_.Query(text);
    ASSERT_FALSE(result->HasError()) << text << "\n" << result->GetError();
    EXPECT_EQ(result->GetValue(0, 0).GetValue<int64_t>(), 0)
        << ours << "\ngroup " << result->GetValue(1, 0).ToString() << ": "
        << result->GetValue(2, 0).ToString() << " instead of " << result->GetValue(3, 0).ToString();
  }

  void ExpectAggregate(const std::string& aggregate, const std::string& plain) {
    ExpectSame(fmt::format("SELECT g, {} FROM points GROUP BY g", aggregate), plain);
  }

  duckdb::DuckDB database_;
  duckdb::Connection connection_;
};

TEST_F(Aggregates, FirstAndLast) {
  for (const char* value : {"v", "n", "s", "v::FLOAT", "n::INT", "(n > 500)", "[s, n::VARCHAR]",
                            "{'n': n, 's': s}", "n::DECIMAL(20, 1)", "n * INTERVAL 1 SECOND"}) {
    for (const bool last : {false, true}) {
      const char* order = last ? "DESC" : "ASC";
      const auto one = fmt::format(
          "SELECT g, x FROM (SELECT g, {0} AS x, row_number() OVER (PARTITION BY g "
          "ORDER BY t {1}, {0} {1}) AS rank FROM points WHERE t IS NOT NULL AND {0} IS NOT NULL) "
          "WHERE rank = 1",
          value, order);
      ExpectAggregate(fmt::format("{}({}, t)", last ? "last" : "first", value), one);
    }
  }
}

TEST_F(Aggregates, TimeWeightedMean) {
  for (const bool linear : {false, true}) {
    ExpectAggregate(
        linear ? "time_weighted_mean(t, v, 'linear')" : "time_weighted_mean(t, v)",
        fmt::format("SELECT g, CASE WHEN count(*) = 1 THEN any_value(v) ELSE "
                    "sum({} * w) / sum(w) END FROM (SELECT g, v, lead(v) OVER o AS next, "
                    "epoch_us(lead(t) OVER o) - epoch_us(t) AS w FROM mean "
                    "WINDOW o AS (PARTITION BY g ORDER BY t)) GROUP BY g",
                    linear ? "(v + next) / 2" : "v"));
  }
}

TEST_F(Aggregates, CountersAndGauges) {
  for (const auto& [column, view] : {std::pair{"v", "real"}, std::pair{"n", "whole"}}) {
    const auto steps = fmt::format(
        "(SELECT g, t, v, lag(v) OVER (PARTITION BY g ORDER BY t) AS before FROM {})", view);
    const std::string increase =
        "sum(CASE WHEN v < before THEN v WHEN before IS NULL THEN 0 ELSE v - before END)";
    const std::string two = "HAVING count(*) > 1";
    ExpectAggregate(fmt::format("increase(t, {})", column),
                    fmt::format("SELECT g, {} FROM {} GROUP BY g {}", increase, steps, two));
    ExpectAggregate(fmt::format("rate(t, {})", column),
                    fmt::format("SELECT g, {} / ((epoch_us(max(t)) - epoch_us(min(t))) / 1e6) FROM "
                                "{} GROUP BY g {}",
                                increase, steps, two));
    ExpectAggregate(
        fmt::format("delta(t, {})", column),
        fmt::format("SELECT g, arg_max(v, t) - arg_min(v, t) FROM {} GROUP BY g {}", steps, two));
  }
}

TEST_F(Aggregates, M4) {
  const auto extreme = [](const char* order) {
    return fmt::format(
        "SELECT g, t, v FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY {}) AS rank "
        "FROM finite WHERE NOT isnan(v)) WHERE rank = 1",
        order);
  };
  const auto plain = fmt::format(
      "SELECT g, list({{'time': t, 'value': v}} ORDER BY t, v) FROM ({} UNION {} UNION {} UNION {}"
      ") GROUP BY g",
      extreme("t, v"), extreme("t DESC, v DESC"), extreme("v, t"), extreme("v DESC, t"));
  ExpectAggregate("m4(t, v)", plain);
  ExpectSame(
      "SELECT g, m4(p) FROM (SELECT g, m4(t, v) AS p FROM points GROUP BY g, time_bucket('7m', t)) "
      "GROUP BY g",
      plain);
}

TEST_F(Aggregates, Histogram) {
  std::string counts = "count(*) FILTER (v < -10)";
  for (int i = 0; i < 8; ++i) {
    counts += fmt::format(", count(*) FILTER (v >= {} AND v < {})", -10 + 5 * i, -5 + 5 * i);
  }
  ExpectAggregate("histogram(v, -10, 30, 8)",
                  fmt::format("SELECT g, [{}, count(*) FILTER (v >= 30)] FROM points GROUP BY g "
                              "HAVING count(v) > 0",
                              counts));
}

// A window gives what the aggregate gives for the rows of the frame.
TEST_F(Aggregates, AsWindows) {
  Run("CREATE TABLE numbered AS SELECT *, row_number() OVER (PARTITION BY g ORDER BY t, v, n, s) "
      "r, g * 100000 + r AS id FROM points WHERE g < 2");
  // Each as in a window of one table, and with the columns of `b`.
  const std::pair<const char*, const char*> aggregates[] = {
      {"last_by(v, t)", "last_by(b.v, b.t)"},
      {"first_by(s, t)", "first_by(b.s, b.t)"},
      {"last_by(s, t)", "last_by(b.s, b.t)"},
      {"time_weighted_mean(t, v)", "time_weighted_mean(b.t, b.v)"},
      {"increase(t, n)", "increase(b.t, b.n)"},
      {"rate(t, v)", "rate(b.t, b.v)"},
      {"delta(t, n)", "delta(b.t, b.n)"},
      {"m4(t, v)", "m4(b.t, b.v)"},
      {"lttb(t, v, 4)", "lttb(b.t, b.v, 4)"},
      {"histogram(v, 0, 50, 3)", "histogram(b.v, 0, 50, 3)"}};
  for (const auto& [ours, plain] : aggregates) {
    // In order of time, in another order, with a filter, and with a hole in the frame.
    for (const auto& [order, filter, exclude] :
         {std::tuple{"r", "true", ""}, std::tuple{"-r", "n % 3 > 0", ""},
          std::tuple{"n, r", "true", ""}, std::tuple{"r", "true", "EXCLUDE CURRENT ROW"}}) {
      const auto table = fmt::format(
          "(SELECT *, row_number() OVER (PARTITION BY g ORDER BY {}) AS place FROM numbered)",
          order);
      ExpectSame(fmt::format("SELECT id, {} FILTER ({}) OVER (PARTITION BY g ORDER BY place ROWS "
                             "BETWEEN 20 PRECEDING AND 3 FOLLOWING {}) FROM {}",
                             ours, filter, exclude, table),
                 fmt::format("WITH m AS MATERIALIZED {} SELECT a.id, {} FROM m a JOIN m b ON "
                             "b.g = a.g AND b.place BETWEEN a.place - 20 AND a.place + 3 WHERE {} "
                             "AND {} GROUP BY a.id",
                             table, plain, *filter == 't' ? "true" : "b.n % 3 > 0",
                             *exclude ? "a.id <> b.id" : "true"));
    }
  }
}

// Frames that only grow are added to, also from thread to thread.
TEST_F(Aggregates, AsRunningWindows) {
  Run("CREATE TABLE numbered AS SELECT *, row_number() OVER (PARTITION BY g ORDER BY t) AS r, "
      "g * 100000 + r AS id FROM real WHERE g < 100");
  for (const char* aggregate : {"increase(t, v)", "rate(t, v)", "time_weighted_mean(t, v)",
                                "time_weighted_mean(t, v, 'linear')"}) {
    const std::string mean = std::string(aggregate).find("mean") == std::string::npos
                                 ? ""
                                 : "CASE WHEN r = 1 THEN v ELSE ";
    std::string plain = "sum(CASE WHEN v < p THEN v ELSE v - p END) OVER w";
    if (std::string(aggregate) == "rate(t, v)") plain += " / (x / 1e6)";
    if (!mean.empty()) plain = mean + "sum(p * d) OVER w / x END";
    if (std::string(aggregate).find("linear") != std::string::npos) {
      plain = mean + "sum((p + v) / 2 * d) OVER w / x END";
    }
    ExpectSame(
        fmt::format("SELECT id, {} OVER (PARTITION BY g ORDER BY t) FROM numbered", aggregate),
        fmt::format("SELECT id, {} FROM (SELECT *, lag(v) OVER w AS p, epoch_us(t) - "
                    "epoch_us(lag(t) OVER w) AS d, epoch_us(t) - epoch_us(first_value(t) "
                    "OVER w) AS x FROM numbered WINDOW w AS (PARTITION BY g ORDER BY t)) "
                    "WINDOW w AS (PARTITION BY g ORDER BY t)",
                    plain));
  }
}

// The algorithm as in Steinarsson's thesis, with its names.
std::vector<Point<double>> ReferenceLttb(const std::vector<Point<double>>& data, int threshold) {
  const int length = static_cast<int>(data.size());
  if (threshold >= length) return data;
  std::vector<Point<double>> sampled = {data[0]};
  const double every = static_cast<double>(length - 2) / (threshold - 2);
  int a = 0;
  for (int i = 0; i < threshold - 2; ++i) {
    const int avg_start = static_cast<int>(std::floor((i + 1) * every)) + 1;
    const int avg_end = std::min(static_cast<int>(std::floor((i + 2) * every)) + 1, length);
    double avg_x = 0, avg_y = 0;
    for (int j = avg_start; j < avg_end; ++j) {
      avg_x += static_cast<double>(data[j].time);
      avg_y += data[j].value;
    }
    avg_x /= avg_end - avg_start;
    avg_y /= avg_end - avg_start;
    const int from = static_cast<int>(std::floor(i * every)) + 1;
    double max_area = -1;
    int next_a = from;
    for (int j = from; j < avg_start; ++j) {
      const double area =
          std::fabs((static_cast<double>(data[a].time) - avg_x) * (data[j].value - data[a].value) -
                    (static_cast<double>(data[a].time) - static_cast<double>(data[j].time)) *
                        (avg_y - data[a].value));
      if (area > max_area) {
        max_area = area;
        next_a = j;
      }
    }
    sampled.push_back(data[next_a]);
    a = next_a;
  }
  sampled.push_back(data[length - 1]);
  return sampled;
}

TEST(Points, LttbIsTheReference) {
  std::printf("seed %llu\n", static_cast<unsigned long long>(Seed()));
  std::mt19937_64 random(Seed());
  for (int run = 0; run < 300; ++run) {
    std::vector<Point<double>> data;
    int64_t time = 0;  // the reference takes absolute times, so they are small
    const auto length = random() % 2000;
    for (size_t i = 0; i < length; ++i) {
      time += static_cast<int64_t>(random() % 5);
      data.push_back({time, static_cast<double>(random() % 1000)});
    }
    const int n = 3 + static_cast<int>(random() % 300);
    const auto ours = Lttb(data, static_cast<size_t>(n));
    const auto theirs = ReferenceLttb(data, n);
    ASSERT_EQ(ours.size(), theirs.size()) << length << " to " << n;
    for (size_t i = 0; i < ours.size(); ++i) {
      ASSERT_EQ(ours[i].time, theirs[i].time) << length << " to " << n;
      ASSERT_EQ(ours[i].value, theirs[i].value);
    }
  }
}

TEST(Points, LttbOfFewPoints) {
  for (size_t length = 0; length < 12; ++length) {
    std::vector<Point<double>> data;
    for (size_t i = 0; i < length; ++i) data.push_back({static_cast<int64_t>(i), 1});
    for (size_t n = 2; n < 14; ++n) EXPECT_EQ(Lttb(data, n).size(), std::min(length, n));
  }
}

TEST(HistogramBins, EveryValueLiesInItsBin) {
  std::mt19937_64 random(Seed());
  std::uniform_real_distribution<double> real(-1, 1);
  for (int run = 0; run < 1000; ++run) {
    HistogramBins bins;
    const double scale = std::pow(10, static_cast<double>(random() % 600) - 300);
    bins.min = real(random) * scale;
    bins.max = bins.min + std::fabs(real(random)) * scale;
    bins.n = 1 + static_cast<int64_t>(random() % 1000);
    if (!(bins.min < bins.max)) continue;
    for (int i = 0; i < 100; ++i) {
      const double value = i % 2 ? bins.Edge(1 + static_cast<int64_t>(random() % bins.n))
                                 : bins.min + (bins.max - bins.min) * std::fabs(real(random));
      const int64_t bin = bins.BinOf(value);
      if (bin > bins.n) {
        ASSERT_GE(value, bins.max);
        continue;
      }
      ASSERT_GE(bin, 1);
      ASSERT_GE(value, bins.Edge(bin));
      if (bin < bins.n) {
        ASSERT_LT(value, bins.Edge(bin + 1));
      }
    }
    EXPECT_EQ(bins.BinOf(std::nan("")), bins.n + 1);
    EXPECT_EQ(bins.BinOf(-INFINITY), 0);
    EXPECT_EQ(bins.BinOf(INFINITY), bins.n + 1);
  }
}

}  // namespace
}  // namespace timelake::sql

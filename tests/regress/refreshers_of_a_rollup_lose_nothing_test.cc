// Two refreshers at once, beside appends, deletes and compaction: in the end the rollup is what its
// query says, and on the way queries that use it are what the table says.
#include <atomic>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

constexpr int kAppends = 30;
constexpr int64_t kMinute = 60'000'000;
constexpr char kSelect[] =
    "SELECT device, time_bucket('1h', time) AS b, count(*) AS n, sum(CAST(v AS BIGINT)) AS s "
    "FROM t GROUP BY ALL";

class Refreshers : public LakeTest {
 protected:
  static void Append(Table table, std::atomic<bool>* stop, std::string* error) {
    std::mt19937 random(7);
    for (int i = 0; i < kAppends; ++i) {
      std::vector<Row> rows;
      for (int r = 0; r < 50; ++r) {  // late ones and replacements among them
        rows.push_back({kMinute * static_cast<int64_t>(random() % 3000),
                        fmt::format("d{}", random() % 3), 1.0 * static_cast<int>(random() % 100)});
      }
      Keep(table.Append(Batch(rows)).status(), error);
      if (i % 7 == 3) Keep(table.Delete(fmt::format("v = {}", random() % 100)).status(), error);
      if (i % 10 == 9) {
        MaintainOptions options;
        options.rollups = false;
        options.full = true;
        Keep(Maintain(table, options).status(), error);
      }
    }
    *stop = true;
  }

  static void Keep(const arrow::Status& status, std::string* error) {
    if (!status.ok() && KindOf(status) != ErrorKind::kConflict) *error = status.ToString();
  }
};

TEST_F(Refreshers, LoseNothing) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{0, "d0", 1}})).status());
  RollupOptions manual;
  manual.settings = {{"rollup-refresh-interval", "off"}};
  TL_OK(lake.CreateRollup("r", kSelect, manual).status());

  std::atomic<bool> stop{false};
  std::vector<std::string> errors(4);
  std::vector<std::thread> threads;
  threads.emplace_back([&] { Append(Must(OpenLake().OpenTable("t")), &stop, &errors[0]); });
  for (int t = 1; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Lake own = OpenLake();
      while (!stop) Keep(own.RefreshRollup("r").status(), &errors[static_cast<size_t>(t)]);
    });
  }
  // A query reads one version of each table, so both halves see the same rows.
  threads.emplace_back([&] {
    Lake own = OpenLake();
    while (!stop) {
      const std::string differ =
          Ask(own,
              "WITH raw AS (FROM t) SELECT (SELECT sum(CAST(v AS BIGINT)) FROM t) - (SELECT "
              "sum(CAST(v AS BIGINT)) FROM raw)");
      if (differ != "0") errors[3] = "rollup and table differ by " + differ;
    }
  });
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) EXPECT_EQ(error, "");

  TL_OK(lake.RefreshRollup("r").status());
  LakeOptions options;
  options.settings = {{"rollup-routing", "false"}};
  const Lake plain = OpenLake(options);
  EXPECT_EQ(Ask(plain, fmt::format("SELECT count(*) FROM (FROM r EXCEPT ALL ({}))", kSelect)), "0");
  EXPECT_EQ(Ask(plain, fmt::format("SELECT count(*) FROM (({}) EXCEPT ALL FROM r)", kSelect)), "0");
  EXPECT_FALSE(Must(lake.RefreshRollup("r")).changed);
}

}  // namespace
}  // namespace timelake::regress

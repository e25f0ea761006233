// Groups that the scan gives whole against the same query without any rewrite.
#include <random>

#include <fmt/format.h>

#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

constexpr int64_t kDay = int64_t{86'400} * 1'000'000;
constexpr int64_t kStart = int64_t{20'454} * kDay;  // 2026-01-01

class WholeGroups : public LakeTest {
 protected:
  // `count` rows of some devices from `begin` on, in any order, the values exact in sums.
  void AppendRows(Table& table, int64_t begin, int64_t length, int count) {
    std::vector<Row> rows;
    for (int i = 0; i < count; ++i) {
      // In whole tenths of a minute: some of a series have the same time.
      const int64_t time = begin + static_cast<int64_t>(random_() % 100'000) * length / 100'000;
      rows.push_back({time - time % 6'000'000, fmt::format("d{}", random_() % devices_),
                      static_cast<double>(random_() % 4000) / 4});
    }
    TL_OK(table.Append(Batch(rows)).status());
  }

  // A table of some days, with rows that came late, and files merged or not.
  Table Make(Lake& lake, const std::string& name) {
    TableOptions options = Readings();
    options.dedup = random_() % 2 == 0;
    options.chunk = std::vector<Chunk>{Chunk::kHour, Chunk::kDay, Chunk::kMonth}[random_() % 3];
    options.properties["row-group-rows"] = random_() % 2 ? "3000" : "1048576";
    devices_ = 1 + static_cast<int>(random_() % 60);
    Table table = Must(lake.CreateTable(name, kColumns, options));
    const int64_t days = options.chunk == Chunk::kHour ? 1 : 3;
    for (int64_t day = 0; day < days; ++day) {
      AppendRows(table, kStart + day * kDay, kDay, static_cast<int>(36'000 / days));
    }
    const int late = static_cast<int>(random_() % 3);
    for (int i = 0; i < late; ++i) AppendRows(table, kStart, kDay / 8, 500);
    if (random_() % 3 == 0) Must(Maintain(table));
    if (random_() % 3 == 0) {
      Session session = Must(Session::Open(lake));
      Must(
          Must(session.Sql("DELETE FROM " + name + " WHERE device = 'd0' AND v < 500"))->ToTable());
    }
    return table;
  }

  std::string Query(const std::string& table) {
    const char* widths[] = {"1 minute", "10 minutes", "1 hour", "7 hours", "1 day"};
    const char* filters[] = {
        "", " WHERE v > 300", " WHERE device IN ('d1', 'd3', 'nosuch')",
        " WHERE time >= '2026-01-01T05:17:00Z' AND time < '2026-01-02T03:00:00Z'"};
    return fmt::format(
        "SELECT device, time_bucket('{}', time) AS b, count(*) AS n, sum(v) AS s, avg(v) AS a, "
        "min(v) AS low, max(time) AS last FROM {}{} GROUP BY device, b ORDER BY ALL",
        widths[random_() % 5], table, filters[random_() % 4]);
  }

  std::mt19937 random_{20'261'201};
  int devices_ = 1;
};

std::shared_ptr<arrow::RecordBatch> Rows(Session& session, const std::string& sql) {
  return Must(Must(Must(session.Sql(sql))->ToTable())->CombineChunksToBatch());
}

TEST_F(WholeGroups, EqualThoseOfDuckDB) {
  Lake lake = OpenLake();
  int whole = 0, both = 0;
  for (int round = 0; round < 12; ++round) {
    const std::string name = fmt::format("t{}", round);
    Make(lake, name);
    Session rewritten = Must(Session::Open(lake));
    Session plain = Must(Session::Open(lake));
    Must(Must(plain.Sql("SET disabled_optimizers = 'extension'"))->ToTable());
    for (int i = 0; i < 15; ++i) {
      const std::string sql = Query(name);
      const std::string plan =
          Must(Rows(rewritten, "EXPLAIN " + sql)->column(1)->GetScalar(0))->ToString();
      whole += plan.find("Each Group") != std::string::npos ? 1 : 0;
      both += plan.find("UNION") != std::string::npos ? 1 : 0;
      const auto found = Rows(rewritten, sql), expected = Rows(plain, sql);
      ASSERT_TRUE(found->Equals(*expected))
          << "round " << round << ": " << sql << ": " << found->num_rows() << " groups, not "
          << expected->num_rows() << ", or other values";
    }
  }
  EXPECT_GT(whole, 60) << "most of the queries did not test anything";
  EXPECT_GT(both, 10);
}

}  // namespace
}  // namespace timelake::regress

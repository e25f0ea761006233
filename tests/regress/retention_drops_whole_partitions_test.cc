// Retention drops partitions that are past, and the newest row of every series stays what a scan
// says. Rows that are past when they arrive are refused, left out or kept for a while.
#include <fmt/format.h>

#include "base/civil_time.h"
#include "regress/lake_fixture.h"
#include "timelake/maintain.h"

namespace timelake::regress {
namespace {

constexpr int64_t kDay = kMicrosPerDay;

class RetentionTest : public LakeTest {
 protected:
  // Noon of the day so many days from today.
  int64_t Day(int64_t days) const { return FloorDiv(now_, kDay) * kDay + days * kDay + kDay / 2; }

  TableOptions Kept(const std::string& retention, const std::string& on_expired = "keep") const {
    TableOptions options = Readings();
    options.retention = retention;
    options.properties = {
        {"on-expired", on_expired}, {"auto-maintain", "false"}, {"max-future", "off"}};
    return options;
  }

  static void ExpectLatest(const Lake& lake, const std::string& expected) {
    for (const char* from_index : {"true", "false"}) {
      Session session = Must(Session::Open(lake));
      Must(Must(session.Sql(fmt::format("SET timelake_latest_from_index = {}", from_index)))
               ->ToTable());
      auto table =
          Must(Must(session.Sql("SELECT string_agg(device || CAST(v AS BIGINT), ' ' ORDER BY "
                                "device) FROM (SELECT * FROM t QUALIFY row_number() OVER "
                                "(PARTITION BY device ORDER BY time DESC) = 1)"))
                   ->ToTable());
      EXPECT_EQ(Must(table->column(0)->GetScalar(0))->ToString(), expected)
          << "from the index: " << from_index;
    }
  }

  const int64_t now_ = SystemClock()->NowMicros();
};

TEST_F(RetentionTest, DropsWhatIsPastAndTheIndexFollows) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Kept("5d")));
  // a has rows on all days, b's newest are past, c has none but past ones.
  TL_OK(table.Append(Batch({{Day(-10), "a", 1}, {Day(-10), "b", 2}, {Day(-10), "c", 3}})).status());
  TL_OK(table.Append(Batch({{Day(-9), "a", 4}, {Day(-9), "b", 5}})).status());
  TL_OK(table.Append(Batch({{Day(-1), "a", 6}})).status());
  TL_OK(table.Append(Batch({{Day(-10) + 1, "a", 7}})).status());  // late
  ExpectLatest(lake, "a6 b5 c3");
  MaintainOptions only;
  only.compact = only.expire = false;
  only.dry_run = true;
  MaintainReport report = Must(Maintain(table, only));
  ASSERT_EQ(report.planned.size(), 2u);
  EXPECT_EQ(report.planned[0].task, "retention");
  EXPECT_EQ(report.planned[0].reason, "past retention");
  EXPECT_EQ(report.planned[0].files, 2);
  EXPECT_EQ(report.planned[0].rows, 4);
  EXPECT_EQ(report.files_dropped, 0);
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "7");

  only.dry_run = false;
  report = Must(Maintain(table, only));
  EXPECT_EQ(report.partitions_dropped, 2);
  EXPECT_EQ(report.files_dropped, 3);
  EXPECT_EQ(report.rows_dropped, 6);
  EXPECT_EQ(report.files_held_back, 0);
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "1");
  const auto summary = Must(table.Snapshots()).back().summary;
  EXPECT_EQ(summary.at("operation"), "delete");
  EXPECT_EQ(summary.at("deleted-data-files"), "3");
  EXPECT_EQ(summary.at("deleted-records"), "6");
  EXPECT_EQ(summary.at("total-records"), "1");
  EXPECT_NE(Must(table.Info()).last_value_index, "");
  ExpectLatest(lake, "a6");
  const int64_t version = table.version();
  EXPECT_TRUE(Must(Maintain(table, only)).planned.empty());
  EXPECT_EQ(Must(table.Refresh()), version);
  // Appends go on from that index.
  TL_OK(table.Append(Batch({{Day(0), "b", 8}})).status());
  ExpectLatest(lake, "a6 b8");
}

TEST_F(RetentionTest, OfAllRowsLeavesAnEmptyTable) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Kept("1d")));
  TL_OK(table.Append(Batch({{Day(-10), "a", 1}})).status());
  EXPECT_EQ(Must(Maintain(table)).rows_dropped, 1);
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "0");
  EXPECT_EQ(Must(table.Latest())->num_rows(), 0);
  TL_OK(table.Append(Batch({{Day(0), "a", 2}})).status());
  ExpectLatest(lake, "a2");
}

TEST_F(RetentionTest, ExactlyAlsoTakesRowsOutOfPartitionsThatStay) {
  Lake lake = OpenLake();
  TableOptions options = Kept("5d");
  options.chunk = Chunk::kMonth;
  options.dedup = true;
  Table table = Must(lake.CreateTable("t", kColumns, options));
  const int64_t now = SystemClock()->NowMicros();
  const int64_t cutoff = now - 5 * kDay;
  // Some rows of b and all of c are past, at most of two months; replaced rows go with those that
  // replaced them.
  for (int round = 0; round < 2; ++round) {
    TL_OK(table
              .Append(Batch({{cutoff - kDay, "b", 1.0 + round},
                             {cutoff - 1, "c", 2.0 + round},
                             {cutoff + kMicrosPerHour, "b", 3.0 + round},
                             {now, "a", 4.0 + round}}))
              .status());
  }
  MaintainOptions exact;
  exact.compact = exact.expire = exact.orphans = false;
  exact.exact = true;
  exact.dry_run = true;
  int64_t rows = 0;
  for (const auto& step : Must(Maintain(table, exact)).planned) rows += step.rows;
  EXPECT_GE(rows, 2);
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "4");
  exact.dry_run = false;
  EXPECT_GE(Must(Maintain(table, exact)).rows_dropped, 2);
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "2");
  ExpectLatest(lake, "a5 b4");
  exact.compact = true;
  Must(Maintain(table, exact));
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "2");
  ExpectLatest(lake, "a5 b4");
}

TEST_F(RetentionTest, CanBeLeftOut) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Kept("1d")));
  TL_OK(table.Append(Batch({{Day(-10), "a", 1}})).status());
  MaintainOptions options;
  options.retention = false;
  EXPECT_EQ(Must(Maintain(table, options)).rows_dropped, 0);
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "1");
  // Without the setting there is nothing to do.
  TL_OK(table.SetProperties({{"retention", std::nullopt}}));
  EXPECT_EQ(Must(Maintain(table)).rows_dropped, 0);
}

TEST_F(RetentionTest, RowsThatArePastAreRefused) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Kept("5d", "error")));
  const auto batch = Batch({{Day(0), "a", 1}, {Day(-7), "a", 2}, {Day(-8), "a", 3}});
  const Status refused = table.Append(batch).status();
  EXPECT_EQ(KindOf(refused), ErrorKind::kInvalidArgument);
  for (const std::string& part :
       {std::string("default.t"), std::string("time"), std::string("row 2"),
        FormatTimestamp(Day(-7)), std::string("retention (5d)"), std::string("2 rows"),
        std::string("on-expired")}) {
    EXPECT_NE(refused.message().find(part), std::string::npos) << part << ": " << refused.message();
  }
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "0");
  AppendOptions skip;
  skip.settings = {{"on-expired", "skip"}};
  const AppendResult result = Must(table.Append(batch, skip));
  EXPECT_EQ(result.rows, 1);
  EXPECT_EQ(result.skipped, 2);
  AppendOptions keep;
  keep.settings = {{"on-expired", "keep"}};
  EXPECT_EQ(Must(table.Append(batch, keep)).rows, 3);
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "3");
  EXPECT_EQ(Must(Maintain(table)).rows_dropped, 2);
}

// An append into a partition that is being dropped: its rows, too, go with the next run.
TEST_F(RetentionTest, IsPlannedAnewOverAnAppend) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Kept("5d")));
  TL_OK(table.Append(Batch({{Day(-10), "a", 1}})).status());
  Table other = Must(OpenLake().OpenTable("t"));
  for (int i = 0; i < 3; ++i) {  // the handle of `table` falls behind
    TL_OK(other.Append(Batch({{Day(-10) + i, "b", 2}, {Day(-1), "b", 3}})).status());
  }
  EXPECT_EQ(Must(Maintain(table)).rows_dropped, 4);
  EXPECT_EQ(Ask(OpenLake(), "SELECT count(*) FROM t"), "1");
  ExpectLatest(OpenLake(), "b3");
}

}  // namespace
}  // namespace timelake::regress

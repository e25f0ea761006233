// Ten rows on very many series must not write the rows of all of them, and the newest rows are the
// ones that a scan finds all the same.
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

constexpr int64_t kSeries = 20'000;
constexpr char kIndex[] = "timelake.last-value-index";
constexpr char kBase[] = "timelake.index-base";
constexpr char kPart[] = "timelake.index-part";

class LargeIndex : public LakeTest {
 protected:
  void SetUp() override {
    LakeTest::SetUp();
    options_.observer = std::make_shared<Observer>();
    options_.observer->metric = [this](const char* name, int64_t value) {
      std::lock_guard lock(mutex_);
      counts_[name] += value;
    };
    options_.observer->log = [this](LogLevel, const std::string& line) {
      std::lock_guard lock(mutex_);
      log_ += line + "\n";
    };
  }

  static std::string Device(int64_t i) { return fmt::format("device-{:06}", i); }

  Table Make(Lake& lake) {
    Table table = Must(lake.CreateTable("t", kColumns, Readings()));
    std::vector<Row> rows;
    for (int64_t i = 0; i < kSeries; ++i) {
      rows.push_back({1'000'000 + i, Device(i), static_cast<double>(i)});
    }
    EXPECT_TRUE(table.Append(Batch(rows)).ok());
    return table;
  }

  static std::map<std::string, std::string> Head(Table& table) {
    return Must(table.Snapshots()).back().summary;
  }

  static std::string All(const Lake& lake, const std::string& sql) {
    Session session = Must(Session::Open(lake));
    auto reader = Must(session.Sql(sql));
    return Must(Must(reader->ToTable())->CombineChunks())->ToString();
  }

  // The rows of the index and those of a scan, in a fresh process's eyes.
  void ExpectLatestEqualsScan() {
    Lake lake = OpenLake(options_);
    LakeOptions scanning = options_;
    scanning.settings["latest-from-index"] = "false";
    Lake scan = OpenLake(scanning);
    for (const char* query :
         {"SELECT count(*), sum(v)::BIGINT, max(time), min(time) FROM latest('t')",
          "SELECT v, time FROM t WHERE device = 'device-000003' ORDER BY time DESC LIMIT 1",
          "SELECT v, time FROM t WHERE device = 'device-000004' ORDER BY time DESC LIMIT 1",
          "SELECT v, time FROM t WHERE device = 'device-999999' ORDER BY time DESC LIMIT 1",
          "SELECT v, time FROM t WHERE device = 'nobody' ORDER BY time DESC LIMIT 1",
          "SELECT device, max(time) FROM t WHERE device IN ('device-000005', 'device-019999') "
          "GROUP BY device ORDER BY device",
          "SELECT count(*) FROM latest('t') WHERE device < 'device-000100'"}) {
      EXPECT_EQ(All(lake, query), All(scan, query)) << query;
    }
  }

  LakeOptions options_;
  std::mutex mutex_;
  std::map<std::string, int64_t> counts_;
  std::string log_;
};

TEST_F(LargeIndex, FewRowsWriteAPart) {
  Lake lake = OpenLake(options_);
  Table table = Make(lake);
  EXPECT_EQ(Head(table).at("timelake.index-rows"), std::to_string(kSeries));
  const std::string base = Head(table).at(kIndex);
  for (int64_t append = 0; append < 5; ++append) {
    counts_.clear();
    TL_OK(table
              .Append(Batch({{2'000'000'000 + append, Device(3), 100.0},
                             {500, Device(4), 5.0},        // late
                             {1'000'005, Device(5), 7.0},  // again
                             {2'000'000'000, "device-999999", 1.0 + static_cast<double>(append)}}))
              .status());
    EXPECT_EQ(counts_["store.get"] + counts_["store.read_at"], 0) << "appends read nothing";
    const auto head = Head(table);
    EXPECT_FALSE(head.contains(kIndex)) << append;
    EXPECT_EQ(head.at(kBase), base);
    EXPECT_EQ(head.at("timelake.index-rows"), std::to_string(kSeries));
    EXPECT_NE(head.at(kPart), base);
    const std::string part = head.at(kPart).substr(std::string("file://").size());
    EXPECT_LT(std::filesystem::file_size(part), 4096u);
  }
  ExpectLatestEqualsScan();
  EXPECT_EQ(counts_["index.miss"], 0);
}

TEST_F(LargeIndex, AProcessThatHasReadNothingGoesOnFromThePart) {
  {
    Lake lake = OpenLake(options_);
    Table table = Make(lake);
    TL_OK(table.Append(Batch({{2'000'000'000, Device(3), 100.0}})).status());
  }
  Lake lake = OpenLake(options_);
  Table table = Must(lake.OpenTable("t"));
  counts_.clear();
  TL_OK(table.Append(Batch({{2'000'000'001, Device(4), 101.0}})).status());
  EXPECT_TRUE(Head(table).contains(kPart));
  EXPECT_LT(counts_["store.bytes_read"], 100'000) << "the base is not read";
  ExpectLatestEqualsScan();
}

TEST_F(LargeIndex, IsWrittenAnewWhenThePartHasGrown) {
  Lake lake = OpenLake(options_);
  Table table = Make(lake);
  int64_t parts = 0;
  for (int64_t append = 0; append < 40 && !(append > 0 && Head(table).contains(kIndex)); ++append) {
    std::vector<Row> rows;
    for (int64_t i = 0; i < 100; ++i) {
      rows.push_back({2'000'000'000 + append, Device(append * 100 + i), 1.0});
    }
    TL_OK(table.Append(Batch(rows)).status());
    if (Head(table).contains(kPart)) ++parts;
  }
  // p * p < 2 * 20,000 * 100.
  EXPECT_EQ(parts, 19);
  EXPECT_TRUE(Head(table).contains(kIndex));
  EXPECT_FALSE(Head(table).contains(kPart));
  ExpectLatestEqualsScan();
}

TEST_F(LargeIndex, SharedTablesHaveACompleteOne) {
  Lake lake = OpenLake(options_);
  Table table = Make(lake);
  TL_OK(table.SetProperties({{"timelake.shared", "true"}}));
  TL_OK(table.Append(Batch({{2'000'000'000, Device(3), 100.0}})).status());
  EXPECT_TRUE(Head(table).contains(kIndex));
  EXPECT_FALSE(Head(table).contains(kBase));
  ExpectLatestEqualsScan();
}

TEST_F(LargeIndex, ExpiryKeepsTheBaseWhileAPartStandsOnIt) {
  Lake lake = OpenLake(options_);
  Table table = Make(lake);
  const std::string base = Head(table).at(kIndex).substr(std::string("file://").size());
  TL_OK(table.SetProperties({{"snapshot-retention", "1ms"},
                             {"min-snapshots", "1"},
                             {"max-snapshots", "1"},
                             {"metadata-min-age", "200ms"},
                             {"delete-min-age", "200ms"}}));
  TL_OK(table.Append(Batch({{2'000'000'000, Device(3), 100.0}})).status());
  const std::string old_part = Head(table).at(kPart).substr(std::string("file://").size());
  TL_OK(table.Append(Batch({{2'000'000'001, Device(3), 101.0}})).status());
  // Until the age has passed, the run frees nothing.
  for (int i = 0; i < 200 && std::filesystem::exists(old_part); ++i) {
    TL_OK(Maintain(table).status());
    if (std::filesystem::exists(old_part)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  EXPECT_FALSE(std::filesystem::exists(old_part));
  EXPECT_TRUE(std::filesystem::exists(base));
  ExpectLatestEqualsScan();
}

TEST_F(LargeIndex, AMissingBaseMeansNoIndex) {
  Lake lake = OpenLake();
  Table table = Make(lake);
  const std::string base = Head(table).at(kIndex).substr(std::string("file://").size());
  TL_OK(table.Append(Batch({{2'000'000'000, Device(3), 100.0}})).status());
  std::filesystem::remove(base);
  ExpectLatestEqualsScan();
  EXPECT_GT(counts_["index.miss"], 0);
  EXPECT_NE(log_.find("no last-value index"), std::string::npos);
}

}  // namespace
}  // namespace timelake::regress

// O24: redpanda-data/connect PR 4591, apache/iceberg 8809, Daft PR 6905, Netflix/iceberg 47.
#include <thread>

#include "maintain/expiry.h"
#include "maintain/free_versions.h"
#include "regress/lake_fixture.h"

namespace timelake::regress {
namespace {

class RetriedBatch : public LakeTest {
 protected:
  AppendOptions Id(const std::string& id) {
    AppendOptions options;
    options.batch_id = id;
    return options;
  }
  const std::shared_ptr<arrow::RecordBatch> rows_ = Batch({{1, "a", 1}, {2, "a", 2}, {3, "b", 3}});
};

TEST_F(RetriedBatch, ReportsTheFirstAndLeavesNoFile) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  EXPECT_FALSE(Must(table.Append(rows_, Id("b7"))).duplicate);
  const auto files = FilesBelow(Folder("t")).size();
  for (const auto& batch : {rows_, Batch({{9, "z", 9}})}) {
    auto again = Must(table.Append(batch, Id("b7")));
    EXPECT_TRUE(again.duplicate);
    EXPECT_EQ(again.rows, 3);
    EXPECT_EQ(again.files, 0);
  }
  EXPECT_EQ(FilesBelow(Folder("t")).size(), files);
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "3");
}

TEST_F(RetriedBatch, FromSeveralHandlesAtOnce) {
  Must(OpenLake().CreateTable("t", kColumns, Readings()));
  std::vector<std::thread> threads;
  std::atomic<int> first{0}, duplicates{0};
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      Table table = Must(OpenLake().OpenTable("t"));
      auto result = Must(table.Append(rows_, Id("b7")));
      ++(result.duplicate ? duplicates : first);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(duplicates, 5);
  EXPECT_EQ(Ask(OpenLake(), "SELECT count(*) FROM t"), "3");
}

TEST_F(RetriedBatch, IsNewAgainAfterARollbackBehindIt) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  const auto base = Must(table.Append(Batch({{5, "q", 5}})));
  Table stale = Must(OpenLake().OpenTable("t"));
  TL_OK(table.Append(rows_, Id("b7")).status());
  TL_OK(stale.Refresh().status());
  TL_OK(table.Rollback(base.snapshot_id));
  // A handle that still knows the version with b7 must not report a duplicate.
  auto again = Must(stale.Append(rows_, Id("b7")));
  EXPECT_FALSE(again.duplicate);
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "4");
}

TEST_F(RetriedBatch, OutlivesTheExpiryOfItsSnapshot) {
  Lake lake = OpenLake();
  TableOptions options = Readings();
  options.properties = {{"snapshot-retention", "1ms"}, {"min-snapshots", "1"}};
  Table table = Must(lake.CreateTable("t", kColumns, options));
  TL_OK(table.Append(rows_, Id("b7")).status());
  for (int i = 0; i < 4; ++i) TL_OK(table.Append(Batch({{10 + i, "c", 1}})).status());
  auto handle = Must(lake.impl()->catalog->Open({"default", "t"}));
  auto expired = Must(maintain::RunExpiry(*handle));
  EXPECT_TRUE(expired.committed);
  EXPECT_EQ(Must(table.Snapshots()).size(), 1u);
  auto again = Must(Must(OpenLake().OpenTable("t")).Append(rows_, Id("b7")));
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.rows, 3);
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "7");
}

TEST_F(RetriedBatch, AHundredTimesAcrossExpiriesInAFileOfTheLog) {
  Lake lake = OpenLake();
  TableOptions options = Readings();
  options.properties = {{"snapshot-retention", "1ms"}, {"min-snapshots", "1"}};
  Table table = Must(lake.CreateTable("t", kColumns, options));
  auto handle = Must(lake.impl()->catalog->Open({"default", "t"}));
  constexpr int kBatches = 230;  // more than fit into the property
  for (int i = 0; i < kBatches; ++i) {
    TL_OK(table.Append(Batch({{i, "a", 1}}), Id("b" + std::to_string(i))).status());
    if (i % 50 == 49) TL_OK(maintain::RunExpiry(*handle).status());
  }
  TL_OK(maintain::RunExpiry(*handle).status());
  EXPECT_TRUE(
      handle->known().metadata->properties.at("timelake.batch-id-log").starts_with("file://"));
  Table fresh = Must(OpenLake().OpenTable("t"));
  for (int i = 0; i < kBatches; i += 23) {
    EXPECT_TRUE(Must(fresh.Append(Batch({{i, "a", 1}}), Id("b" + std::to_string(i)))).duplicate)
        << i;
  }
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), std::to_string(kBatches));
}

}  // namespace
}  // namespace timelake::regress

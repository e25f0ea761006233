// O17: duckdb-iceberg 108, 1121, apache/iceberg-rust 2576, ClickHouse PR 111617.
#include "regress/lake_fixture.h"
#include "table/manifests.h"

namespace timelake::regress {
namespace {

class Totals : public LakeTest {};

TEST_F(Totals, OfTwoAppends) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "0");
  TL_OK(table.Append(Batch({{1, "a", 1}, {2, "a", 2}, {3, "b", 3}})).status());
  TL_OK(table.Append(Batch({{4, "c", 4}})).status());
  const auto snapshots = Must(table.Snapshots());
  ASSERT_EQ(snapshots.size(), 2u);
  EXPECT_EQ(snapshots[0].summary.at("added-records"), "3");
  EXPECT_EQ(snapshots[0].summary.at("total-records"), "3");
  EXPECT_EQ(snapshots[1].summary.at("added-records"), "1");
  EXPECT_EQ(snapshots[1].summary.at("total-records"), "4");
  EXPECT_EQ(Must(table.Info()).rows, 4);
}

TEST_F(Totals, AreLeftOutWhereTheParentLacksThem) {
  iceberg::Snapshot parent;
  parent.summary = {{"operation", "append"}};
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{1, "a", 1}})).status());
  // Strip the totals of the only snapshot, as some writers never write them.
  auto handle = Must(lake.impl()->catalog->Open({"default", "t"}));
  iceberg::TableMetadata metadata = *handle->known().metadata;
  iceberg::Summary::Map summary = metadata.snapshots.back().summary;
  std::erase_if(summary, [](const auto& item) { return item.first.starts_with("total-"); });
  metadata.snapshots.back().summary = summary;
  auto store = store::MakeLocalStore();
  const std::string key = handle->VersionKey(3);
  ASSERT_EQ(
      Must(store->PutIfAbsent(key, arrow::Buffer::FromString(iceberg::WriteMetadata(metadata))))
          .outcome,
      store::PutOutcome::kCreated);
  TL_OK(table.Append(Batch({{2, "a", 2}})).status());
  EXPECT_FALSE(Must(table.Snapshots()).back().summary.contains("total-records"));
  EXPECT_EQ(Must(table.Snapshots()).back().summary.at("added-records"), "1");
}

}  // namespace
}  // namespace timelake::regress

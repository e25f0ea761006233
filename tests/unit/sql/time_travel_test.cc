// AT (...): which snapshot is meant, and what it looks like.

#include "sql/time_travel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sql/missing_file.h"

namespace timelake::sql {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <typename T>
T Must(Result<T> result) {
  EXPECT_TRUE(result.ok()) << result.status();
  return std::move(result).ValueOrDie();
}

// Snapshots 11, 12 and 13 of columns a; a, b; b, c. 11 has expired. 13 was rolled back to 12.
iceberg::TableMetadata Metadata() {
  const auto column = [](int id, const char* name, iceberg::TypeId type) {
    iceberg::Field field;
    field.id = id;
    field.name = name;
    field.type.id = type;
    return field;
  };
  iceberg::TableMetadata metadata;
  for (int i = 0; i < 3; ++i) {
    iceberg::Schema schema;
    schema.schema_id = i;
    if (i < 2) schema.fields.push_back(column(1, "a", iceberg::TypeId::kTimestamptz));
    if (i > 0) schema.fields.push_back(column(2, "b", iceberg::TypeId::kString));
    if (i > 1) schema.fields.push_back(column(3, "c", iceberg::TypeId::kLong));
    metadata.schemas.push_back(schema);
  }
  metadata.current_schema_id = 2;
  for (int i = 1; i < 3; ++i) {
    iceberg::Snapshot snapshot;
    snapshot.snapshot_id = 11 + i;
    snapshot.schema_id = i;
    snapshot.timestamp_ms = 1000 * (i + 1);
    metadata.snapshots.push_back(snapshot);
  }
  metadata.current_snapshot_id = 12;
  metadata.snapshot_log = {{1000, 11}, {2000, 12}, {3000, 13}, {4000, 12}};
  metadata.refs["main"].snapshot_id = 12;
  metadata.refs["release"].snapshot_id = 13;
  return metadata;
}

std::string VersionError(const std::string& version) {
  const auto metadata = Metadata();
  return MessageOf(SnapshotOfVersion("ns.t", metadata, version).status());
}

TEST(TimeTravel, AVersionIsAnIdOrTheNameOfABranchOrTag) {
  const auto metadata = Metadata();
  EXPECT_EQ(Must(SnapshotOfVersion("ns.t", metadata, "12"))->snapshot_id, 12);
  EXPECT_EQ(Must(SnapshotOfVersion("ns.t", metadata, "13"))->snapshot_id, 13);
  EXPECT_EQ(Must(SnapshotOfVersion("ns.t", metadata, "main"))->snapshot_id, 12);
  EXPECT_EQ(Must(SnapshotOfVersion("ns.t", metadata, "release"))->snapshot_id, 13);
  EXPECT_THAT(VersionError("11"),
              AllOf(HasSubstr("table ns.t: there is no snapshot 11: it may"),
                    HasSubstr("it holds 2 snapshots: 12 (1970-01-01T00:00:02Z)"),
                    HasSubstr("\"t$snapshots\"")));
  EXPECT_THAT(VersionError("nosuch"), HasSubstr("no snapshot, branch or tag \"nosuch\""));
  EXPECT_EQ(KindOf(SnapshotOfVersion("ns.t", metadata, "1").status()), ErrorKind::kNotFound);
}

TEST(TimeTravel, ATimeFindsTheSnapshotThatWasCurrentThen) {
  auto metadata = Metadata();
  const auto id_at = [&](int64_t micros) {
    return Must(SnapshotOfTime("ns.t", metadata, micros))->snapshot_id;
  };
  EXPECT_EQ(id_at(2'000'000), 12);
  EXPECT_EQ(id_at(2'999'999), 12);
  EXPECT_EQ(id_at(3'000'000), 13);
  EXPECT_EQ(id_at(4'000'000), 12);  // rolled back
  EXPECT_EQ(id_at(INT64_MAX), 12);
  const Status before = SnapshotOfTime("ns.t", metadata, 999'999).status();
  EXPECT_EQ(KindOf(before), ErrorKind::kNotFound);
  EXPECT_THAT(MessageOf(before),
              AllOf(HasSubstr("ns.t"), HasSubstr("1970-01-01T00:00:00.999999Z"),
                    HasSubstr("the first that is known became current at 1970-01-01T00:00:01Z")));
  EXPECT_THAT(MessageOf(SnapshotOfTime("ns.t", metadata, 1'000'000).status()),
              HasSubstr("snapshot 11, which was current at 1970-01-01T00:00:01Z, has expired"));
  metadata.snapshot_log.clear();
  metadata.snapshots.clear();
  EXPECT_THAT(MessageOf(SnapshotOfTime("ns.t", metadata, 5).status()),
              HasSubstr("it has no snapshots"));
}

TEST(TimeTravel, ASnapshotIsSeenInItsOwnSchema) {
  TableVersion table;
  table.name = "ns.t";
  table.metadata = std::make_shared<iceberg::TableMetadata>(Metadata());
  table.contract.time_id = 1;
  table.contract.key_ids = {2, 3};
  table.contract.key_names = {"b", "c"};
  table.dedup = true;
  const auto early = AtSnapshot(table, table.metadata->snapshots[0]);
  EXPECT_EQ(iceberg::FieldNames(*early->schema), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(early->snapshot->snapshot_id, 12);
  EXPECT_TRUE(early->time_travel);
  EXPECT_TRUE(early->dedup);
  EXPECT_EQ(early->contract.key_ids, std::vector<int>{2});  // c is NULL in all its rows
  EXPECT_EQ(early->contract.time_name, "a");
  const auto late = AtSnapshot(table, table.metadata->snapshots[1]);
  EXPECT_EQ(iceberg::FieldNames(*late->schema), (std::vector<std::string>{"b", "c"}));
  EXPECT_FALSE(late->dedup);  // without a time column
  EXPECT_EQ(table.metadata->current_schema_id, 2);
}

TEST(MissingFile, IsExplainedByExpiry) {
  TableVersion table;
  table.name = "ns.t";
  table.number = 7;
  table.metadata = std::make_shared<iceberg::TableMetadata>(Metadata());
  table.snapshot = iceberg::CurrentSnapshot(*table.metadata);
  const Status missing = ExplainMissing(table, NotFound("file:///x.parquet is missing"));
  EXPECT_EQ(KindOf(missing), ErrorKind::kNotFound);
  EXPECT_EQ(MessageOf(missing),
            "table ns.t: file:///x.parquet is missing; snapshot 12 of version 7 may have expired "
            "while the query ran, and its files been deleted: run the query again");
  EXPECT_EQ(MessageOf(ExplainMissing(table, Corrupt("bad page"))), "bad page");
  EXPECT_TRUE(ExplainMissing(table, Status::OK()).ok());
}

}  // namespace
}  // namespace timelake::sql

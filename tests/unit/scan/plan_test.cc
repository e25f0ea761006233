#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/scan/test_table.h"

namespace timelake::scan {
namespace {

using iceberg::DataFile;
using iceberg::Value;
using table::ExpectError;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kDay = 86400000000;

iceberg::Schema TwoColumns() {
  iceberg::Schema schema;
  schema.fields = {NewField(1, "time", "timestamptz"), NewField(2, "host", "string")};
  return schema;
}

TestTable NewTable() {
  return TestTable(TwoColumns(),
                   {NewSpec(0, {}), NewSpec(1, {{1, "day"}}),
                    NewSpec(2, {{1, "day"}, {2, "identity"}}), NewSpec(3, {{1, "void"}})});
}

DataFile File(const std::string& name, std::vector<Value> partition = {}) {
  DataFile file;
  file.file_path = "memory://t/data/" + name;
  file.record_count = 10;
  file.file_size_in_bytes = 1000;
  file.partition = std::move(partition);
  return file;
}

DataFile Deletes(const std::string& name, bool equality, std::vector<Value> partition = {}) {
  DataFile file = File(name, std::move(partition));
  file.content =
      equality ? iceberg::FileContent::kEqualityDeletes : iceberg::FileContent::kPositionDeletes;
  if (equality) file.equality_ids = {2};
  return file;
}

std::vector<std::string> NamesOf(const std::vector<std::shared_ptr<const DataFile>>& files) {
  std::vector<std::string> names;
  for (const auto& file : files) names.push_back(TestTable::NameOf(*file));
  return names;
}

TEST(Plan, NoSnapshotIsAnEmptyPlan) {
  TestTable table = NewTable();
  const Plan plan = table.MakePlan().ValueOrDie();
  EXPECT_TRUE(plan.files.empty());
  EXPECT_NE(plan.counters, nullptr);
}

TEST(Plan, LiveFilesInTheOrderOfTheirPaths) {
  TestTable table = NewTable();
  table.Commit({File("c"), File("a")});
  std::vector<iceberg::ManifestEntry> entries(2);
  entries[0].file = File("b");
  entries[1].file = File("gone");
  entries[1].status = iceberg::EntryStatus::kDeleted;
  entries[1].snapshot_id = 2;
  entries[1].sequence_number = entries[1].file_sequence_number = 1;
  table.CommitEntries(entries);
  const Plan plan = table.MakePlan().ValueOrDie();
  EXPECT_THAT(TestTable::Names(plan.files), ElementsAre("a", "b", "c"));
  EXPECT_EQ(plan.files[0].sequence_number, 1);
  EXPECT_EQ(plan.files[1].sequence_number, 2);
  EXPECT_EQ(plan.counters->files_total, 3);
}

TEST(Plan, ManifestsArePrunedByTheirSummariesAndFilesByTheirPartition) {
  TestTable table = NewTable();
  table.Commit({File("d0", {0}), File("d1", {1})}, 1);
  table.Commit({File("d8", {8}), File("d9", {9})}, 1);
  table.Commit({File("unpartitioned")}, 0);
  table.Commit({File("d1x", {1, std::string("x")}), File("d1y", {1, std::string("y")})}, 2);
  const Predicate day1{{ColumnTest{1, Op::kGe, {kDay}}, ColumnTest{1, Op::kLt, {2 * kDay}}}};
  const Plan plan = table.MakePlan(day1).ValueOrDie();
  EXPECT_THAT(TestTable::Names(plan.files), ElementsAre("d1", "d1x", "d1y", "unpartitioned"));
  EXPECT_EQ(plan.counters->manifests_total, 4);
  EXPECT_EQ(plan.counters->manifests_pruned, 1);
  EXPECT_EQ(plan.counters->files_total, 7);
  EXPECT_EQ(plan.counters->files_pruned, 3);
  Predicate day1x = day1;
  day1x.all_of.push_back({2, Op::kEq, {std::string("x")}});
  EXPECT_THAT(TestTable::Names(table.MakePlan(day1x).ValueOrDie().files),
              ElementsAre("d1", "d1x", "unpartitioned"));
}

// Specification, "Scan Planning".
TEST(Plan, PositionDeletesApplyToTheirPartitionFromTheSameCommitOn) {
  TestTable table = NewTable();
  table.Commit({File("old", {1}), File("other", {2})}, 1);
  std::vector<iceberg::ManifestEntry> both(1);
  both[0].file = File("same", {1});
  table.CommitEntries(both, 1);
  both[0].file = Deletes("del", false, {1});
  both[0].sequence_number = 2;  // of the commit that added "same"
  table.CommitEntries(both, 1);
  table.Commit({File("young", {1})}, 1);
  table.Commit({File("otherspec", {1, std::string("h")})}, 2);
  const Plan plan = table.MakePlan().ValueOrDie();
  for (const ScanFile& file : plan.files) {
    const std::string name = TestTable::NameOf(*file.data);
    const bool applies = name == "old" || name == "same";
    EXPECT_EQ(file.position_deletes.size(), applies ? 1u : 0u) << name;
    EXPECT_THAT(file.equality_deletes, IsEmpty());
  }
}

TEST(Plan, PositionDeletesOfOneFile) {
  TestTable table = NewTable();
  table.Commit({File("a.parquet"), File("b.parquet")});
  DataFile named = Deletes("named", false);
  named.referenced_data_file = "memory://t/data/a.parquet";
  DataFile bounded = Deletes("bounded", false);
  bounded.lower_bounds[2147483546] = bounded.upper_bounds[2147483546] = "memory://t/data/b.parquet";
  DataFile wide = Deletes("wide", false);
  wide.lower_bounds[2147483546] = "memory://t/data/";
  wide.upper_bounds[2147483546] = "memory://t/data0";
  table.Commit({named, bounded, wide});
  const Plan plan = table.MakePlan().ValueOrDie();
  EXPECT_THAT(NamesOf(plan.files[0].position_deletes), ElementsAre("named", "wide"));
  EXPECT_THAT(NamesOf(plan.files[1].position_deletes), ElementsAre("bounded", "wide"));
}

TEST(Plan, EqualityDeletesApplyToOlderFilesOfTheirPartitionOrOfAll) {
  TestTable table = NewTable();
  table.Commit({File("d1", {1}), File("d2", {2})}, 1);
  table.Commit({File("plain")}, 0);
  std::vector<iceberg::ManifestEntry> entry(1);
  entry[0].file = Deletes("eq1", true, {1});
  table.CommitEntries(entry, 1);                          // 3
  table.Commit({Deletes("everywhere", true)}, 0);         // 4
  table.Commit({Deletes("voided", true, {Value()})}, 3);  // 5
  table.Commit({File("young", {1})}, 1);                  // 6
  entry[0].file = File("same commit as eq1", {1});
  entry[0].sequence_number = 3;
  table.CommitEntries(entry, 1);
  const Plan plan = table.MakePlan().ValueOrDie();
  ASSERT_THAT(TestTable::Names(plan.files),
              ElementsAre("d1", "d2", "plain", "same commit as eq1", "young"));
  EXPECT_THAT(NamesOf(plan.files[0].equality_deletes), ElementsAre("eq1", "everywhere", "voided"));
  EXPECT_THAT(NamesOf(plan.files[1].equality_deletes), ElementsAre("everywhere", "voided"));
  EXPECT_THAT(NamesOf(plan.files[2].equality_deletes), ElementsAre("everywhere", "voided"));
  EXPECT_THAT(NamesOf(plan.files[3].equality_deletes), ElementsAre("everywhere", "voided"));
  EXPECT_THAT(NamesOf(plan.files[4].equality_deletes), IsEmpty());
}

TEST(Plan, DeleteManifestsArePrunedWithTheirPartition) {
  TestTable table = NewTable();
  table.Commit({File("d1", {1}), File("d2", {2})}, 1);
  table.Commit({Deletes("eq1", true, {1})}, 1);
  const Plan plan = table.MakePlan({{{1, Op::kGe, {2 * kDay}}}}).ValueOrDie();
  EXPECT_THAT(TestTable::Names(plan.files), ElementsAre("d2"));
  EXPECT_EQ(plan.counters->manifests_pruned, 1);
}

TEST(Plan, ManyManifestsAndWhatIsMissingIsNamed) {
  TestTable table = NewTable();
  for (int i = 0; i < 40; ++i) table.Commit({File("f" + std::to_string(100 + i))});
  EXPECT_EQ(table.MakePlan().ValueOrDie().files.size(), 40u);
  table.Commit({File("last")});
  ASSERT_TRUE(table.env().store->Delete("t/metadata/m41").ok());
  ExpectError(table.MakePlan().status(), ErrorKind::kNotFound, {"t/metadata/m41"});
}

TEST(Plan, ManifestsNamedInTheSnapshotOfAVersion1Table) {
  TestTable table = NewTable();
  table.Commit({File("a", {1}), File("b", {2})}, 1);
  iceberg::Snapshot& snapshot = table.metadata().snapshots.back();
  snapshot.manifest_list.clear();
  snapshot.manifests = {"memory://t/metadata/m1"};
  snapshot.sequence_number = 0;
  EXPECT_THAT(TestTable::Names(table.MakePlan({{{1, Op::kGe, {2 * kDay}}}}).ValueOrDie().files),
              ElementsAre("b"));
}

}  // namespace
}  // namespace timelake::scan

// Whether merged files may still be committed to a version that others have changed since.

#include "maintain/compaction_commit.h"

#include <gtest/gtest.h>

#include "unit/scan/test_table.h"

namespace timelake::maintain {
namespace {

using Names = std::vector<std::string>;

class StillValidTest : public ::testing::Test {
 protected:
  StillValidTest()
      : table_(*iceberg::ParseSchemaText("host:string, time:timestamptz!, v:long"),
               {iceberg::PartitionSpec{}, Buckets()}) {
    target_.table_name = "ns.t";
    target_.location_uri = store::UriOf(*table_.env().store, "t");
    target_.schema = table_.schema();
    target_.contract.time_id = 2;
    target_.contract.key_ids = {1};
    target_.contract.dedup = true;
    target_.settings = table::ResolveSettings({}).ValueOrDie();
  }

  static iceberg::PartitionSpec Buckets() {
    iceberg::PartitionField field;
    field.source_id = 2;
    field.field_id = 1000;
    field.name = "time_day";
    field.transform = iceberg::ParseTransform("day");
    iceberg::PartitionSpec spec;
    spec.spec_id = 1;
    spec.fields = {field};
    return spec;
  }

  iceberg::DataFile Data(const std::string& name, int64_t first, int64_t last) {
    auto file = table_.Write(
        name, {R"(["a", "a"])", "[" + std::to_string(first) + ", " + std::to_string(last) + "]",
               "[1, 2]"});
    const auto bound = [](int64_t time) {
      return *iceberg::ToBytes(*iceberg::ParseType("timestamptz"), iceberg::Value(time));
    };
    file.lower_bounds[2] = bound(first);
    file.upper_bounds[2] = bound(last);
    return file;
  }

  std::unique_ptr<LiveFiles> Live() {
    auto live = LiveFiles::Read(
        table_.env(), std::make_shared<const iceberg::TableMetadata>(table_.metadata()), target_);
    EXPECT_TRUE(live.ok()) << live.status().ToString();
    return *std::move(live);
  }

  // A group of these files as they stand now.
  PendingGroup Group(const Names& names) {
    PendingGroup group;
    const auto live = Live();
    for (const LiveFile& file : live->files()) {
      const std::string name = scan::TestTable::NameOf(*file.file->data);
      if (std::find(names.begin(), names.end(), name) == names.end()) continue;
      group.inputs.push_back(*file.file);
      group.home = {file.file->spec_id, file.file->data->partition};
      group.max_sequence = std::max(group.max_sequence, file.file->sequence_number);
    }
    EXPECT_EQ(group.inputs.size(), names.size());
    return group;
  }

  bool Valid(const PendingGroup& group) {
    return !StillValid({group}, *Live(), target_.contract.dedup).empty();
  }
  std::set<std::string> Spent(const std::vector<PendingGroup>& groups) {
    std::vector<size_t> all;
    for (size_t i = 0; i < groups.size(); ++i) all.push_back(i);
    std::set<std::string> names;
    for (const std::string& path : SpentDeletes(groups, all, *Live())) {
      names.insert(path.substr(path.rfind('/') + 1));
    }
    return names;
  }

  scan::TestTable table_;
  write::Target target_;
};

TEST_F(StillValidTest, AfterAnAppend) {
  table_.Commit({Data("1", 0, 9)});
  table_.Commit({Data("2", 5, 15)});
  const PendingGroup group = Group({"1", "2"});
  EXPECT_TRUE(Valid(group));
  table_.Commit({Data("3", 0, 20)});
  EXPECT_TRUE(Valid(group));
}

TEST_F(StillValidTest, NotWhenAnInputHasGone) {
  table_.Commit({Data("1", 0, 9)});
  table_.Commit({Data("2", 5, 15)});
  PendingGroup group = Group({"1", "2"});
  iceberg::DataFile gone = *group.inputs[0].data;
  gone.file_path += ".gone";
  group.inputs[0].data = std::make_shared<const iceberg::DataFile>(gone);
  EXPECT_FALSE(Valid(group));
}

// The outputs of another merge carry an old sequence number.
TEST_F(StillValidTest, NotWhenAFileCameInBetween) {
  table_.Commit({Data("1", 0, 9)});
  table_.Commit({Data("other", 100, 101)});
  table_.Commit({Data("2", 5, 15)});
  const PendingGroup group = Group({"1", "2"});
  iceberg::ManifestEntry late;
  late.file = Data("late", 8, 8);
  late.file.partition = {iceberg::Value(int32_t{0})};
  late.sequence_number = 2;
  table_.CommitEntries({late}, 1);
  EXPECT_FALSE(Valid(group));
  target_.contract.dedup = false;
  EXPECT_TRUE(Valid(group));
}

TEST_F(StillValidTest, NotWhenADeleteFileNamesAnInput) {
  table_.Commit({Data("1", 0, 9)});
  table_.Commit({Data("2", 5, 15)});
  const PendingGroup group = Group({"1", "2"});
  table_.Commit({table_.WritePositionDeletes("d", {{group.inputs[0].data->file_path, 0}})});
  EXPECT_FALSE(Valid(group));
  EXPECT_TRUE(Valid(Group({"1", "2"})));  // merged again, with the deletes applied
}

TEST_F(StillValidTest, WhenANewerDeleteByValueAppliesToTheOutputsAsWell) {
  table_.Commit({Data("1", 0, 9)});
  table_.Commit({Data("2", 5, 15)});
  const PendingGroup group = Group({"1", "2"});
  table_.Commit({table_.WriteEqualityDeletes("d", {1}, {R"(["a"])"})});
  EXPECT_TRUE(Valid(group));
  EXPECT_TRUE(Spent({group}).empty());  // the outputs need it
  // Not one that hides between the inputs: the outputs, as old as the newest, would escape it.
  iceberg::ManifestEntry old;
  old.file = table_.WriteEqualityDeletes("old", {1}, {R"(["a"])"});
  old.sequence_number = 2;
  table_.CommitEntries({old});
  EXPECT_FALSE(Valid(group));
}

// Files that move to another partition: a delete of that one is not about their rows.
TEST_F(StillValidTest, NotWhenADeleteByValueWouldApplyToTheOutputsAlone) {
  table_.Commit({Data("1", 0, 9)});
  PendingGroup group = Group({"1"});
  group.home = {1, {iceberg::Value(int32_t{0})}};
  EXPECT_TRUE(Valid(group));
  iceberg::ManifestEntry entry;
  entry.file = table_.WriteEqualityDeletes("d", {1}, {R"(["a"])"});
  entry.file.partition = {iceberg::Value(int32_t{0})};
  table_.CommitEntries({entry}, 1);
  EXPECT_FALSE(Valid(group));
}

TEST_F(StillValidTest, DeleteFilesAreSpentWhenAllTheyApplyToIsMerged) {
  table_.Commit({Data("1", 0, 9)});
  table_.Commit({Data("2", 5, 15)});
  table_.Commit({Data("3", 50, 60)});
  const std::string first = Group({"1"}).inputs[0].data->file_path;
  table_.Commit({table_.WritePositionDeletes("positions", {{first, 0}})});
  table_.Commit({table_.WriteEqualityDeletes("values", {1}, {R"(["a"])"})});
  // The position deletes do not say which file they are about, so they may be about any.
  EXPECT_TRUE(Spent({Group({"1", "2"})}).empty());
  EXPECT_EQ(Spent({Group({"1", "2", "3"})}), (std::set<std::string>{"positions", "values"}));
  EXPECT_EQ(Spent({Group({"1", "2"}), Group({"3"})}),
            (std::set<std::string>{"positions", "values"}));
  EXPECT_TRUE(Spent({}).empty());
}

TEST_F(StillValidTest, DeleteFilesThatApplyToNothingAreSpent) {
  table_.Commit({table_.WriteEqualityDeletes("values", {1}, {R"(["a"])"})});
  table_.Commit({Data("1", 0, 9)});  // younger
  EXPECT_EQ(Spent({}), (std::set<std::string>{"values"}));
}

}  // namespace
}  // namespace timelake::maintain

// A table with delete files of other engines, whose folder was moved: they name data files by path.

#include "maintain/relocate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "table/load.h"
#include "unit/scan/test_table.h"

namespace timelake::maintain {
namespace {

using ::testing::ElementsAre;

class RelocateTest : public ::testing::Test {
 protected:
  RelocateTest()
      : table_(*iceberg::ParseSchemaText("n:long, host:string"), {iceberg::PartitionSpec{}}) {
    auto& metadata = table_.metadata();
    metadata.table_uuid = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
    metadata.location = store::UriOf(store(), "w/ns/t");
    metadata.last_column_id = 2;
    metadata.sort_orders.emplace_back();
  }

  store::ObjectStore& store() { return *table_.env().store; }

  // As TestTable puts files below "t", the table is one of folder "t".
  void Finish() {
    auto& metadata = table_.metadata();
    metadata.location = store::UriOf(store(), "t");
    const std::string json = iceberg::WriteMetadata(metadata);
    table::PutBytes(table_.env(), "t/metadata/v1.metadata.json", arrow::Buffer::FromString(json));
  }

  void MoveFolder(const std::string& from, const std::string& to) {
    for (const auto& object : store().List(from + "/").ValueOrDie().objects) {
      const auto bytes = store().Get(object.key).ValueOrDie().bytes;
      table::PutBytes(table_.env(), to + object.key.substr(from.size()), bytes);
      EXPECT_TRUE(store().Delete(object.key).ok());
    }
  }

  // Rows of a snapshot of the table in folder u.
  Result<std::vector<std::string>> Rows(int64_t snapshot_id) {
    table::Handle handle(table_.env(), "ns.u", "u");
    TL_ASSIGN_OR_RAISE(const auto version, table::LoadNewest(handle));
    const auto& metadata = *version.metadata;
    TL_ASSIGN_OR_RAISE(
        scan::Plan plan,
        scan::PlanFiles(table_.env(), metadata, iceberg::SnapshotById(metadata, snapshot_id), {}));
    scan::ScanRequest request;
    request.schema = *iceberg::CurrentSchema(metadata);
    request.field_ids = {1};
    TL_ASSIGN_OR_RAISE(auto scanner, scan::Scanner::Make(table_.env(), metadata, std::move(plan),
                                                         std::move(request)));
    std::vector<std::string> rows;
    while (true) {
      TL_ASSIGN_OR_RAISE(auto reader, scanner->Next());
      if (!reader) break;
      TL_RETURN_NOT_OK(scan::TestTable::Append(reader.get(), &rows));
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  scan::TestTable table_;
};

TEST_F(RelocateTest, PositionDeletesNameTheFilesWhereTheyLie) {
  const auto a = table_.Write("a", {"[1, 2, 3]", R"(["x", "y", "z"])"});
  const auto b = table_.Write("b", {"[4, 5]", R"(["x", "y"])"});
  table_.Commit({a, b});
  auto deletes = table_.WritePositionDeletes("p", {{a.file_path, 0}, {b.file_path, 1}});
  deletes.lower_bounds[2147483546] = a.file_path;
  deletes.upper_bounds[2147483546] = b.file_path;
  table_.Commit({deletes});
  table_.Commit({table_.WriteEqualityDeletes("e", {2}, {R"(["z"])"})});
  table_.metadata().unknown["statistics"] =
      R"([{"statistics-path":"memory://t/metadata/s.puffin"}])";
  Finish();
  MoveFolder("t", "u");
  table::Handle handle(table_.env(), "ns.u", "u");
  const auto report = RunRelocate(handle, {});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_TRUE(report->relocated);
  EXPECT_EQ(report->delete_files, 1);
  EXPECT_EQ(report->manifests, 3);
  EXPECT_EQ(report->files, 4);
  EXPECT_THAT(*Rows(1), ElementsAre("1", "2", "3", "4", "5"));
  EXPECT_THAT(*Rows(2), ElementsAre("2", "3", "4"));
  EXPECT_THAT(*Rows(3), ElementsAre("2", "4"));
  const auto version = table::LoadNewest(handle).ValueOrDie();
  EXPECT_EQ(version.metadata->location, "memory://u");
  EXPECT_EQ(version.metadata->unknown.at("statistics"),
            R"([{"statistics-path":"memory://u/metadata/s.puffin"}])");
  // Nothing names the old folder, and bounds tell the files in full.
  scan::Plan plan = scan::PlanFiles(table_.env(), *version.metadata,
                                    iceberg::CurrentSnapshot(*version.metadata), {})
                        .ValueOrDie();
  for (const auto& file : plan.files) {
    EXPECT_TRUE(file.data->file_path.starts_with("memory://u/data/")) << file.data->file_path;
    ASSERT_EQ(file.position_deletes.size(), 1u);
    const auto& moved = *file.position_deletes[0];
    EXPECT_TRUE(moved.file_path.starts_with("memory://u/data/")) << moved.file_path;
    EXPECT_EQ(moved.lower_bounds.at(2147483546), "memory://u/data/a");
    EXPECT_EQ(moved.upper_bounds.at(2147483546), "memory://u/data/b");
  }
}

TEST_F(RelocateTest, NothingIsLeftOfAFailure) {
  const auto a = table_.Write("a", {"[1]", R"(["x"])"});
  table_.Commit({a});
  table_.Commit({table_.WritePositionDeletes("p", {{a.file_path, 0}})});
  Finish();
  MoveFolder("t", "u");
  EXPECT_TRUE(store().Delete("u/data/p").ok());
  const size_t before = store().List("u/").ValueOrDie().objects.size();
  table::Handle handle(table_.env(), "ns.u", "u");
  const auto report = RunRelocate(handle, {});
  EXPECT_EQ(KindOf(report.status()), ErrorKind::kNotFound) << report.status().ToString();
  EXPECT_NE(report.status().message().find("data/p"), std::string::npos);
  EXPECT_EQ(store().List("u/").ValueOrDie().objects.size(), before);
}

}  // namespace
}  // namespace timelake::maintain

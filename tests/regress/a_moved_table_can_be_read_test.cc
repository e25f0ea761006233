// duckdb-iceberg 29: absolute paths in metadata break when the warehouse is moved or copied.
#include <chrono>
#include <set>
#include <thread>

#include "regress/lake_fixture.h"
#include "timelake/maintain.h"

namespace timelake::regress {
namespace {

class MovedTable : public LakeTest {};

TEST_F(MovedTable, IsReadInItsNewPlaceAndRefusesToBeWritten) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{1, "a", 1}, {2, "b", 2}})).status());
  std::filesystem::create_directories(root_ / "other");
  std::filesystem::rename(Folder("t"), root_ / "other" / "moved");
  Lake fresh = OpenLake();
  EXPECT_EQ(Ask(fresh, "SELECT sum(v) FROM lake.other.moved"), "3");
  Table moved = Must(fresh.OpenTable("other.moved"));
  EXPECT_EQ(Must(moved.Latest())->num_rows(), 2);
  auto appended = moved.Append(Batch({{3, "c", 3}}));
  ASSERT_FALSE(appended.ok());
  EXPECT_EQ(KindOf(appended.status()), ErrorKind::kUnsupported) << appended.status().ToString();
  EXPECT_NE(appended.status().message().find("was moved"), std::string::npos);
  auto changed = moved.SetProperties({{"retention", "9d"}});
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(KindOf(changed), ErrorKind::kUnsupported) << changed.ToString();
}

class Relocated : public LakeTest {
 protected:
  // A table of several snapshots, with a partition past retention to be dropped later.
  Table Make(Lake& lake) {
    TableOptions options = Readings();
    options.properties = {{"auto-maintain", "false"},
                          {"min-snapshots", "1"},
                          {"snapshot-retention", "0s"},
                          {"metadata-min-age", "10ms"},
                          {"delete-min-age", "10ms"}};
    Table table = Must(lake.CreateTable("t", kColumns, options));
    for (int i = 0; i < 4; ++i) {
      AppendOptions append;
      append.batch_id = "batch " + std::to_string(i);
      EXPECT_TRUE(table.Append(Batch({{i, "a", 1.0 * i}, {i, "b", 2.0 * i}}), append).ok());
    }
    return table;
  }

  std::set<std::string> Files(const std::filesystem::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) names.insert(entry.path().string());
    }
    return names;
  }
};

TEST_F(Relocated, IsATableOfItsNewPlace) {
  Lake lake = OpenLake();
  Make(lake);
  std::filesystem::create_directories(root_ / "other");
  std::filesystem::rename(Folder("t"), root_ / "other" / "moved");
  Lake fresh = OpenLake();
  const RelocateReport report = Must(Relocate(fresh, "other.moved"));
  EXPECT_TRUE(report.relocated);
  EXPECT_TRUE(report.from.ends_with("/default/t")) << report.from;
  EXPECT_TRUE(report.to.ends_with("/other/moved")) << report.to;
  EXPECT_EQ(report.snapshots, 4);
  Table moved = Must(fresh.OpenTable("other.moved"));
  EXPECT_EQ(Must(moved.Info()).location, report.to);
  TL_OK(moved.Append(Batch({{9, "a", 10}})).status());
  EXPECT_EQ(Ask(fresh, "SELECT sum(v) FROM lake.other.moved"), "28");
  EXPECT_EQ(Must(moved.Latest())->num_rows(), 2);
  // Time travel and batch ids reach back over the move.
  const auto snapshots = Must(moved.Snapshots());
  ASSERT_EQ(snapshots.size(), 5u);
  EXPECT_EQ(Ask(fresh, "SELECT sum(v) FROM lake.other.moved AT (VERSION => " +
                           std::to_string(snapshots[1].snapshot_id) + ")"),
            "3");
  AppendOptions again;
  again.batch_id = "batch 2";
  EXPECT_TRUE(Must(moved.Append(Batch({{7, "a", 100}}), again)).duplicate);
  VerifyOptions deep;
  deep.deep = true;
  for (const auto& finding : Must(Verify(moved, deep)).findings) {
    ADD_FAILURE() << finding.file << ": " << finding.what;
  }
  EXPECT_FALSE(Must(Relocate(fresh, "other.moved")).relocated);
  EXPECT_EQ(Must(Relocate(fresh, "other.moved")).version, moved.version());
}

// After a copy the versions from before name files of the original: freeing them must not take
// those.
TEST_F(Relocated, ACopyLeavesTheOriginalAlone) {
  Lake lake = OpenLake();
  Table original = Make(lake);
  std::filesystem::create_directories(root_ / "other");
  std::filesystem::copy(Folder("t"), root_ / "other" / "copy",
                        std::filesystem::copy_options::recursive);
  const auto before = Files(Folder("t"));
  ASSERT_TRUE(Must(Relocate(lake, "other.copy")).relocated);
  Table copy = Must(lake.OpenTable("other.copy"));
  TL_OK(copy.Append(Batch({{9, "a", 10}})).status());
  int64_t freed = 0;
  MaintainOptions full;
  full.full = true;
  for (int i = 0; i < 200 && freed < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    freed += Must(Maintain(copy, full)).versions_freed;
  }
  EXPECT_GE(freed, 5);
  EXPECT_EQ(Files(Folder("t")), before);
  EXPECT_EQ(Ask(lake, "SELECT sum(v) FROM t"), "18");
  EXPECT_EQ(Ask(lake, "SELECT sum(v) FROM lake.other.copy"), "28");
  VerifyOptions deep;
  deep.deep = true;
  for (Table* table : {&original, &copy}) {
    for (const auto& finding : Must(Verify(*table, deep)).findings) {
      ADD_FAILURE() << finding.file << ": " << finding.what;
    }
  }
}

TEST_F(Relocated, WhatDidNotComeAlongIsNamed) {
  Lake lake = OpenLake();
  Make(lake);
  std::filesystem::create_directories(root_ / "other");
  std::filesystem::rename(Folder("t"), root_ / "other" / "moved");
  std::string gone;
  for (const auto& name : Files(root_ / "other" / "moved")) {
    if (name.find("-m.avro") != std::string::npos) gone = name;
  }
  std::filesystem::remove(gone);
  const auto before = Files(root_ / "other" / "moved");
  const auto failed = Relocate(lake, "other.moved");
  EXPECT_EQ(KindOf(failed.status()), ErrorKind::kNotFound) << failed.status().ToString();
  EXPECT_NE(failed.status().message().find(std::filesystem::path(gone).filename().string()),
            std::string::npos)
      << failed.status().ToString();
  EXPECT_EQ(Files(root_ / "other" / "moved"), before);
}

}  // namespace
}  // namespace timelake::regress

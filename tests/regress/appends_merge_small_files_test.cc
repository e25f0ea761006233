// Appends merge the small files that many appends leave, and succeed whether that works or not.
#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "base/civil_time.h"
#include "regress/lake_fixture.h"
#include "timelake/maintain.h"

namespace timelake::regress {
namespace {

constexpr int64_t kJanuary = 1'767'398'400'000'000;  // 2026-01-03T00:00:00Z

class AutoMaintain : public LakeTest {
 protected:
  static TableOptions Tended() {
    TableOptions options = Readings();
    options.properties.clear();
    return options;
  }

  AppendResult Append(Table& table, int64_t time, double v, const std::string& device = "a") {
    return Must(table.Append(Batch({{time, device, v}})));
  }
};

TEST_F(AutoMaintain, MergesEightFilesOfATier) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Tended()));
  for (int i = 0; i < 7; ++i) {
    const AppendResult result = Append(table, kJanuary + i, i);
    EXPECT_EQ(result.files_merged, 0);
  }
  const AppendResult eighth = Append(table, kJanuary + 7, 7);
  EXPECT_EQ(eighth.files_merged, 8);
  EXPECT_EQ(eighth.files_written, 1);
  EXPECT_EQ(eighth.maintenance_error, "");
  EXPECT_EQ(eighth.rows, 1);
  EXPECT_EQ(Must(table.Files()).size(), 1u);
  EXPECT_EQ(Must(table.Snapshots()).back().operation, "replace");
  EXPECT_EQ(Must(table.Snapshots())[7].snapshot_id, eighth.snapshot_id);
  EXPECT_EQ(Ask(lake, "SELECT sum(v) FROM t"), "28");
  EXPECT_EQ(Must(table.Latest())->num_rows(), 1);
  // It goes on: files stay few, rows stay all.
  for (int i = 8; i < 60; ++i) Append(table, kJanuary + i, i);
  EXPECT_LT(Must(table.Files()).size(), 16u);
  EXPECT_EQ(Ask(lake, "SELECT sum(v) FROM t"), std::to_string(60 * 59 / 2));
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "60");
}

TEST_F(AutoMaintain, CountsCommitsOfAllProcesses) {
  Table first = Must(OpenLake().CreateTable("t", kColumns, Tended()));
  int64_t merged = 0;
  for (int i = 0; i < 8; ++i) {
    Table fresh = Must(OpenLake().OpenTable("t"));
    merged += Append(fresh, kJanuary + i, i).files_merged;
  }
  EXPECT_EQ(merged, 8);
}

TEST_F(AutoMaintain, CanBeTurnedOffAndChanged) {
  Lake lake = OpenLake();
  TableOptions options = Readings();
  options.properties = {{"auto-maintain", "false"}};
  Table table = Must(lake.CreateTable("t", kColumns, options));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(Append(table, kJanuary + i, i).files_merged, 0);
  AppendOptions call;
  call.settings = {{"auto-maintain", "true"}, {"compact-min-files", "3"}};
  EXPECT_EQ(Must(table.Append(Batch({{kJanuary + 8, "a", 8}}), call)).files_merged, 9);
  // A cap that no two files fit below.
  options.properties = {{"auto-maintain-bytes", "10"}};
  Table capped = Must(lake.CreateTable("u", kColumns, options));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(Append(capped, kJanuary + i, i).files_merged, 0);
}

TEST_F(AutoMaintain, MergesFewFilesOfAPartitionThatIsCold) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Tended()));
  Append(table, kJanuary + 1, 1);
  Append(table, kJanuary + 2, 2);
  int64_t merged = 0;
  for (int i = 0; i < 6; ++i) {  // the next day, from its third hour on
    merged += Append(table, kJanuary + kMicrosPerDay + (3 + i) * kMicrosPerHour, i).files_merged;
  }
  EXPECT_EQ(merged, 2);
  std::map<std::string, int> files;
  for (const FileInfo& file : Must(table.Files())) ++files[file.partition];
  EXPECT_EQ(files["time_day=2026-01-03"], 1);
  EXPECT_EQ(files["time_day=2026-01-04"], 6);
}

// A row of a far year does not make the partition of today cold.
TEST_F(AutoMaintain, IsNotMisledByOneRowOfAFarYear) {
  Lake lake = OpenLake();
  TableOptions options = Readings();
  options.properties = {{"max-future", "off"}};
  Table table = Must(lake.CreateTable("t", kColumns, options));
  const int64_t now = SystemClock()->NowMicros();
  Append(table, now + 30'000 * kMicrosPerDay, 0);
  int64_t merged = 0;
  for (int i = 0; i < 7; ++i) merged += Append(table, now + i, i).files_merged;
  EXPECT_EQ(merged, 0);
}

TEST_F(AutoMaintain, ThatFailsIsReportedBesideTheAppend) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Tended()));
  for (int i = 0; i < 7; ++i) Append(table, kJanuary + i, i);
  const std::string damaged = Must(table.Files())[3].path.substr(7);
  std::filesystem::resize_file(damaged, 100);
  Table fresh = Must(OpenLake().OpenTable("t"));
  const AppendResult result = Append(fresh, kJanuary + 7, 7);
  EXPECT_EQ(result.rows, 1);
  EXPECT_GT(result.snapshot_id, 0);
  EXPECT_EQ(result.files_merged, 0);
  EXPECT_NE(result.maintenance_error.find(damaged), std::string::npos) << result.maintenance_error;
  EXPECT_EQ(Must(fresh.Snapshots()).size(), 8u);
}

// Snapshots go in batches of twenty, and the versions and files that only they needed with them.
TEST_F(AutoMaintain, ExpiresSnapshotsInBatches) {
  Lake lake = OpenLake();
  TableOptions options = Readings();
  options.properties = {{"snapshot-retention", "0s"},
                        {"min-snapshots", "2"},
                        {"metadata-min-age", "300ms"},
                        {"delete-min-age", "300ms"}};
  Table table = Must(lake.CreateTable("t", kColumns, options));
  size_t most = 0, last = 0, metadata_files = 0;
  for (int i = 0; i < 120; ++i) {
    // Nothing but time makes versions old enough to be freed.
    if (i % 40 == 39) std::this_thread::sleep_for(std::chrono::milliseconds(400));
    EXPECT_EQ(Append(table, kJanuary + i, i).maintenance_error, "");
    const size_t snapshots = Must(table.Snapshots()).size();
    EXPECT_TRUE(snapshots > last || (last >= 20 && snapshots <= 4))
        << snapshots << " after " << last;
    last = snapshots;
    most = std::max(most, snapshots);
  }
  EXPECT_GE(most, 20u);
  EXPECT_LE(most, 2u + 20 + 8 + 4);
  for (const auto& entry : std::filesystem::directory_iterator(Folder("t") / "metadata")) {
    metadata_files += entry.path().string().ends_with(".metadata.json");
  }
  EXPECT_LT(metadata_files, 80u);
  EXPECT_EQ(Ask(lake, "SELECT sum(v) FROM t"), std::to_string(120 * 119 / 2));
  VerifyOptions deep;
  deep.deep = true;
  for (const auto& finding : Must(Verify(table, deep)).findings) {
    ADD_FAILURE() << finding.file << ": " << finding.what;
  }
}

TEST_F(AutoMaintain, DropsWhatIsPastRetention) {
  Lake lake = OpenLake();
  TableOptions options = Readings();
  options.properties = {{"on-expired", "keep"}};
  options.retention = "5d";
  Table table = Must(lake.CreateTable("t", kColumns, options));
  const int64_t now = SystemClock()->NowMicros();
  Append(table, now - 9 * kMicrosPerDay, 1, "gone");
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t WHERE device = 'gone'"), "1");
    Append(table, now + i, i);
  }
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "7");
  EXPECT_EQ(Must(table.Latest())->num_rows(), 1);
}

// Late data: a file of another size between those of a tier, by its sequence number, may hold rows
// of the same series and times, so they are not merged around it.
TEST_F(AutoMaintain, KeepsTheOrderOfWrites) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Tended()));
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 9; ++i) {
      std::vector<Row> rows;
      const int many = i == 4 ? 40'000 : 10;
      for (int r = 0; r < many; ++r) {
        rows.push_back({kJanuary + r * kMicrosPerSecond, "a", 1000.0 * round + 100.0 * i});
      }
      TL_OK(table.Append(Batch(rows)).status());
    }
  }
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "40000");
  EXPECT_EQ(Ask(lake, "SELECT CAST(sum(v) AS BIGINT) FROM t"),
            std::to_string(int64_t{39'990} * 5400 + 10 * 5800));
}

}  // namespace
}  // namespace timelake::regress

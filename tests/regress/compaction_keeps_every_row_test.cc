// Compaction never loses, doubles or brings back a row, whatever happens beside it: the answers of
// a table are compared series by series before and after.
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "regress/lake_fixture.h"
#include "table/manifests.h"
#include "timelake/maintain.h"

namespace timelake::regress {
namespace {

constexpr int64_t kJanuary = 1'767'398'400'000'000;  // 2026-01-03T00:00:00Z
constexpr int64_t kSecond = 1'000'000;

class Compaction : public LakeTest {
 protected:
  // One line a series: rows, sum and newest value, as a query sees them.
  static std::vector<std::string> Checksums(const Lake& lake) {
    Session session = Must(Session::Open(lake));
    auto reader = Must(session.Sql(
        "SELECT device, count(*), sum(v), arg_max(v, time), min(time), max(time) FROM t "
        "GROUP BY device ORDER BY device"));
    auto table = Must(reader->ToTable());
    std::vector<std::string> lines(static_cast<size_t>(table->num_rows()));
    for (int column = 0; column < table->num_columns(); ++column) {
      for (int64_t row = 0; row < table->num_rows(); ++row) {
        lines[static_cast<size_t>(row)] +=
            Must(table->column(column)->GetScalar(row))->ToString() + "|";
      }
    }
    return lines;
  }

  // Latest rows from the index and by a scan.
  static void ExpectLatestIsTheScan(const Lake& lake) {
    const std::string newest =
        "(SELECT device, time, v FROM t QUALIFY row_number() OVER "
        "(PARTITION BY device ORDER BY time DESC) = 1)";
    Session index = Must(Session::Open(lake));
    Session scan = Must(Session::Open(lake));
    Must(Must(scan.Sql("SET timelake_latest_from_index = false"))->ToTable());
    const auto of = [&](Session& session) {
      return Must(Must(session.Sql("SELECT * FROM " + newest + " ORDER BY device"))->ToTable());
    };
    const auto expected = of(scan);
    EXPECT_TRUE(of(index)->Equals(*expected)) << of(index)->ToString() << expected->ToString();
    Lake copy = lake;
    Table table = Must(copy.OpenTable("t"));
    EXPECT_EQ(Must(table.Latest())->num_rows(), expected->num_rows());
  }

  static std::string IndexOf(Table& table) { return Must(table.Info()).last_value_index; }

  // Data files on disk that the head does not name.
  std::vector<std::string> Strays(Table& table) {
    std::set<std::string> named;
    for (const FileInfo& file : Must(table.Files())) named.insert(file.path.substr(7));
    std::vector<std::string> strays;
    for (const auto& path : FilesBelow(Folder("t") / "data")) {
      if (!named.contains(path)) strays.push_back(path);
    }
    return strays;
  }

  static MaintainOptions OnlyCompact() {
    MaintainOptions options;
    options.expire = options.rollups = false;
    return options;
  }
};

TEST_F(Compaction, KeepsTheLastWriteOfEachSeriesAndTime) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  // Late rows, duplicates between appends, a NULL key, three days.
  for (int i = 0; i < 12; ++i) {
    std::vector<Row> rows;
    for (int d = 0; d < 5; ++d) {
      const int64_t day = (i + d) % 3;
      rows.push_back({kJanuary + day * 86'400 * kSecond + (i * 7 + d) % 3 * kSecond,
                      fmt::format("d{}", d), 100.0 * i + d});
    }
    TL_OK(table.Append(Batch(rows)).status());
  }
  const auto before = Checksums(lake);
  const std::string index = IndexOf(table);
  ASSERT_NE(index, "");
  const MaintainReport report = Must(Maintain(table, OnlyCompact()));
  EXPECT_EQ(report.partitions_compacted, 3);
  EXPECT_EQ(report.files_rewritten, 36);
  EXPECT_EQ(report.files_written, 3);
  EXPECT_EQ(report.merges_abandoned, 0);
  EXPECT_GT(report.duplicates_removed, 0);
  EXPECT_EQ(Checksums(lake), before);
  EXPECT_EQ(IndexOf(table), index);
  EXPECT_EQ(Must(table.Files()).size(), 3u);
  EXPECT_EQ(Must(table.Info()).rows, report.rows_rewritten);
  ExpectLatestIsTheScan(lake);
  // Nothing is left to be done.
  const int64_t version = table.version();
  const MaintainReport again = Must(Maintain(table, OnlyCompact()));
  EXPECT_TRUE(again.planned.empty());
  EXPECT_EQ(table.version(), version);
}

TEST_F(Compaction, GivesItsFilesTheSequenceNumberOfTheNewest) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  for (int i = 0; i < 3; ++i) TL_OK(table.Append(Batch({{kJanuary, "a", 1.0 * i}})).status());
  Must(Maintain(table, OnlyCompact()));
  const auto files = Must(table.Files());
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].sequence_number, 3);
  EXPECT_EQ(files[0].rows, 1);
  EXPECT_EQ(Ask(lake, "SELECT v FROM t"), "2");
  const auto handle = Must(lake.impl()->catalog->Open({"default", "t"}));
  const auto& head = *iceberg::CurrentSnapshot(*handle->known().metadata);
  EXPECT_EQ(head.operation(), "replace");
  const auto manifests = Must(table::ReadRows(handle->env(), head));
  int64_t rows = 0;
  for (const auto& row : *manifests) {
    rows += row.added_rows_count + row.existing_rows_count;
    if (row.added_files_count > 0) {
      EXPECT_EQ(row.min_sequence_number, 3);
      EXPECT_EQ(row.sequence_number, 4);
    }
  }
  EXPECT_EQ(rows, 1);
}

TEST_F(Compaction, OnlyPlansInADryRun) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  for (int i = 0; i < 3; ++i) TL_OK(table.Append(Batch({{kJanuary + i, "a", 1.0}})).status());
  MaintainOptions options;
  options.dry_run = true;
  const int64_t version = table.version();
  const MaintainReport report = Must(Maintain(table, options));
  ASSERT_EQ(report.planned.size(), 1u);
  EXPECT_EQ(report.planned[0].task, "compaction");
  EXPECT_EQ(report.planned[0].partition, "time_day=2026-01-03");
  EXPECT_EQ(report.planned[0].reason, "small files");
  EXPECT_EQ(report.planned[0].files, 3);
  EXPECT_EQ(report.planned[0].rows, 3);
  EXPECT_GT(report.planned[0].bytes, 0);
  EXPECT_EQ(report.files_rewritten, 0);
  EXPECT_EQ(Must(table.Refresh()), version);
}

TEST_F(Compaction, CommitsWhatFitsBelowTheCapAndGoesOnNextTime) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  for (int i = 0; i < 8; ++i) {
    TL_OK(table.Append(Batch({{kJanuary + i % 4 * 86'400 * kSecond, "a", 1.0 * i}})).status());
  }
  const auto before = Checksums(lake);
  int64_t largest = 0;
  for (const FileInfo& file : Must(table.Files())) largest = std::max(largest, file.bytes);
  MaintainOptions options = OnlyCompact();
  options.max_bytes = 2 * largest;
  for (int run = 0; run < 4; ++run) {
    const MaintainReport report = Must(Maintain(table, options));
    EXPECT_EQ(report.partitions_compacted, 1) << run;
    EXPECT_LE(report.bytes_rewritten, options.max_bytes);
    EXPECT_EQ(report.merges_left, 3 - run);
  }
  EXPECT_EQ(Must(table.Files()).size(), 4u);
  EXPECT_EQ(Checksums(lake), before);
  // No time at all: nothing begins.
  TL_OK(table.Append(Batch({{kJanuary, "b", 1.0}})).status());
  options = OnlyCompact();
  options.max_seconds = 1e-9;
  EXPECT_EQ(Must(Maintain(table, options)).merges_left, 1);
}

// O17: replace snapshots have totals, too.
TEST_F(Compaction, KeepsTheTotals) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{kJanuary + 1, "a", 1}, {kJanuary + 2, "a", 2}, {kJanuary, "b", 3}}))
            .status());
  TL_OK(table.Append(Batch({{kJanuary + 4, "c", 4}})).status());
  Must(Maintain(table, OnlyCompact()));
  const auto summary = Must(table.Snapshots()).back().summary;
  EXPECT_EQ(summary.at("operation"), "replace");
  EXPECT_EQ(summary.at("added-records"), "4");
  EXPECT_EQ(summary.at("deleted-records"), "4");
  EXPECT_EQ(summary.at("total-records"), "4");
  EXPECT_EQ(summary.at("added-data-files"), "1");
  EXPECT_EQ(summary.at("deleted-data-files"), "2");
  EXPECT_EQ(summary.at("total-data-files"), "1");
  EXPECT_EQ(summary.at("total-delete-files"), "0");
  EXPECT_EQ(summary.at("changed-partition-count"), "1");
  EXPECT_EQ(Must(table.Info()).rows, 4);
}

// O24: a batch id is known behind a compaction.
TEST_F(Compaction, KeepsBatchIds) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  AppendOptions options;
  options.batch_id = "b7";
  TL_OK(table.Append(Batch({{kJanuary, "a", 1}, {kJanuary + 1, "a", 2}})).status());
  TL_OK(table.Append(Batch({{kJanuary + 2, "a", 1}}), options).status());
  Must(Maintain(table, OnlyCompact()));
  const AppendResult again = Must(table.Append(Batch({{kJanuary + 2, "a", 1}}), options));
  EXPECT_TRUE(again.duplicate);
  EXPECT_EQ(again.rows, 1);
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "3");
}

TEST_F(Compaction, OfATableWithoutDedupKeepsEveryRow) {
  Lake lake = OpenLake();
  TableOptions options = Readings();
  options.dedup = false;
  Table table = Must(lake.CreateTable("t", kColumns, options));
  for (int i = 0; i < 6; ++i) {
    TL_OK(table.Append(Batch({{kJanuary, "a", 7}, {kJanuary + i, "b", 1.0 * i}})).status());
  }
  const MaintainReport report = Must(Maintain(table, OnlyCompact()));
  EXPECT_EQ(report.duplicates_removed, 0);
  EXPECT_EQ(Ask(lake, "SELECT count(*) FROM t"), "12");
  EXPECT_NE(IndexOf(table), "");
  EXPECT_EQ(Must(table.Latest())->num_rows(), 2);
}

// Without dedup a merge may change which of two rows of one time counts as later: then the index,
// which does not say where its row is from, is not carried on.
TEST_F(Compaction, DropsAnIndexThatMayNotHold) {
  Lake lake = OpenLake();
  TableOptions options = Readings();
  options.dedup = false;
  Table table = Must(lake.CreateTable("t", kColumns, options));
  for (double v : {1.0, 2.0, 3.0}) TL_OK(table.Append(Batch({{kJanuary, "a", v}})).status());
  int64_t largest = 0;
  for (const FileInfo& file : Must(table.Files())) largest = std::max(largest, file.bytes);
  MaintainOptions some = OnlyCompact();
  some.max_bytes = 2 * largest;  // the newest row stays where it is
  const MaintainReport report = Must(Maintain(table, some));
  EXPECT_EQ(report.files_rewritten, 2);
  // A new one would exceed the limit; the first run that merges nothing builds it all the same.
  EXPECT_FALSE(report.index_rebuilt);
  EXPECT_GT(report.bytes_left, 0);
  MaintainOptions least = OnlyCompact();
  least.max_bytes = 1;
  EXPECT_TRUE(Must(Maintain(table, least)).index_rebuilt);
  const auto snapshots = Must(table.Snapshots());
  ASSERT_EQ(snapshots.size(), 5u);
  EXPECT_FALSE(snapshots[3].summary.contains("timelake.last-value-index"));
  EXPECT_TRUE(snapshots[4].summary.contains("timelake.last-value-index"));
  EXPECT_EQ(snapshots[4].operation, "replace");
  EXPECT_EQ(snapshots[4].summary.at("total-records"), "3");
  EXPECT_EQ(Must(Must(table.Latest())->GetColumnByName("v")->GetScalar(0))->ToString(), "3");
  EXPECT_FALSE(Must(Maintain(table, least)).index_rebuilt);
}

TEST_F(Compaction, OfAPlainTable) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, TableOptions{}));
  for (int i = 0; i < 5; ++i) TL_OK(table.Append(Batch({{kJanuary + i, "a", 1.0 * i}})).status());
  const MaintainReport report = Must(Maintain(table, OnlyCompact()));
  EXPECT_EQ(report.files_rewritten, 5);
  EXPECT_EQ(report.files_written, 1);
  EXPECT_EQ(Ask(lake, "SELECT sum(v) FROM t"), "10");
  EXPECT_TRUE(Must(Maintain(table, OnlyCompact())).planned.empty());
}

// Another compaction of the same files commits first, while ours is merging.
TEST_F(Compaction, GivesWayToAnother) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  for (int i = 0; i < 4; ++i) TL_OK(table.Append(Batch({{kJanuary + i, "a", 1.0 * i}})).status());
  const auto before = Checksums(lake);
  Table other = Must(OpenLake().OpenTable("t"));
  MaintainOptions options = OnlyCompact();
  std::atomic<int> polls{0};
  options.cancelled = [&] {
    // The second time the files are being read.
    if (++polls == 3) Must(Maintain(other, OnlyCompact()));
    return false;
  };
  const MaintainReport report = Must(Maintain(table, options));
  ASSERT_GE(polls.load(), 3);
  EXPECT_EQ(report.merges_abandoned, 1);
  EXPECT_EQ(report.files_rewritten, 0);
  EXPECT_EQ(Checksums(OpenLake()), before);
  Table fresh = Must(OpenLake().OpenTable("t"));
  const auto files = Must(fresh.Files());
  EXPECT_EQ(files.size(), 1u);
  EXPECT_EQ(Strays(fresh).size(), 4u);  // the inputs, which older snapshots need
}

// An append commits while ours is merging, with rows of the same series and times.
TEST_F(Compaction, IsRebasedOverAnAppend) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  for (int i = 0; i < 4; ++i) TL_OK(table.Append(Batch({{kJanuary + i, "a", 1.0 * i}})).status());
  Table other = Must(OpenLake().OpenTable("t"));
  MaintainOptions options = OnlyCompact();
  std::atomic<int> polls{0};
  options.cancelled = [&] {
    if (++polls == 3) {
      Must(other.Append(Batch({{kJanuary, "a", 50}, {kJanuary + 9, "b", 60}})));
    }
    return false;
  };
  const MaintainReport report = Must(Maintain(table, options));
  EXPECT_EQ(report.merges_abandoned, 0);
  EXPECT_EQ(report.files_rewritten, 4);
  EXPECT_EQ(Ask(OpenLake(), "SELECT sum(v) FROM t"), "116");  // 50 + 1 + 2 + 3 + 60
  EXPECT_EQ(Ask(OpenLake(), "SELECT count(*) FROM t"), "5");
  ExpectLatestIsTheScan(OpenLake());
}

TEST_F(Compaction, ThatIsCancelledLeavesNothing) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  for (int i = 0; i < 4; ++i) TL_OK(table.Append(Batch({{kJanuary + i, "a", 1.0 * i}})).status());
  const int64_t version = table.version();
  MaintainOptions options = OnlyCompact();
  std::atomic<int> polls{0};
  options.cancelled = [&] { return ++polls > 4; };
  EXPECT_EQ(KindOf(Maintain(table, options).status()), ErrorKind::kCancelled);
  EXPECT_EQ(Must(table.Refresh()), version);
  EXPECT_TRUE(Strays(table).empty());
}

// A data file that cannot be read costs its partition only, and is named.
TEST_F(Compaction, NamesAFileThatIsDamaged) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  for (int i = 0; i < 6; ++i) {
    TL_OK(table.Append(Batch({{kJanuary + i % 2 * 86'400 * kSecond + i, "a", 1.0 * i}})).status());
  }
  std::string damaged;
  for (const FileInfo& file : Must(table.Files())) {
    if (file.partition == "time_day=2026-01-03") damaged = file.path.substr(7);
  }
  std::filesystem::resize_file(damaged, 100);
  Lake fresh = OpenLake();
  Table again = Must(fresh.OpenTable("t"));
  const Status status = Maintain(again, OnlyCompact()).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kCorrupt) << status.ToString();
  EXPECT_NE(status.message().find(damaged), std::string::npos) << status.ToString();
  EXPECT_NE(status.message().find("time_day=2026-01-03"), std::string::npos) << status.ToString();
  int other = 0;
  for (const FileInfo& file : Must(again.Files())) other += file.partition != "time_day=2026-01-03";
  EXPECT_EQ(other, 1);
}

// Appends, compactions, expiry and readers at once, each through a lake of its own.
TEST_F(Compaction, BesideEverybodyElse) {
  constexpr int kWriters = 3;
  constexpr int kAppends = 30;
  Lake lake = OpenLake();
  TableOptions options = Readings();
  options.properties = {{"max-snapshots", "10"}, {"snapshot-retention", "1ms"}};
  Must(lake.CreateTable("t", kColumns, options));
  std::atomic<int> writing{kWriters};
  std::vector<std::thread> threads;
  std::vector<std::string> errors(kWriters + 3);
  std::map<std::pair<std::string, int64_t>, double> expected[kWriters];
  for (int w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      Table table = Must(OpenLake().OpenTable("t"));
      for (int i = 0; i < kAppends; ++i) {
        std::vector<Row> rows;
        for (int r = 0; r < 8; ++r) {  // own series; times come again and again
          const int64_t time = kJanuary + (i * 5 + r * 3) % 20 * kSecond;
          rows.push_back({time, fmt::format("w{}d{}", w, r % 2), 1000.0 * w + 10.0 * i + r});
          expected[w][{rows.back().device, time}] = rows.back().value;
        }
        auto result = table.Append(Batch(rows));
        if (!result.ok()) errors[w] = result.status().ToString();
      }
      --writing;
    });
  }
  std::atomic<int64_t> rewritten{0};
  for (int m = 0; m < 2; ++m) {
    threads.emplace_back([&, m] {
      Table table = Must(OpenLake().OpenTable("t"));
      while (writing > 0) {
        MaintainOptions run;
        run.full = m == 0;
        auto report = Maintain(table, run);
        if (!report.ok()) {
          errors[kWriters + m] = report.status().ToString();
          return;
        }
        rewritten += report->files_rewritten;
      }
    });
  }
  threads.emplace_back([&] {
    while (writing > 0) {
      Session session = Must(Session::Open(OpenLake()));
      auto reader = session.Sql("SELECT count(*), count(DISTINCT (device, time)) FROM t");
      if (!reader.ok()) {
        errors.back() = reader.status().ToString();
        return;
      }
      auto table = Must((*reader)->ToTable());
      const auto count = [&](int column) {
        return Must(table->column(column)->GetScalar(0))->ToString();
      };
      if (count(0) != count(1)) errors.back() = count(0) + " rows, " + count(1) + " keys";
    }
  });
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) EXPECT_EQ(error, "");
  EXPECT_GT(rewritten.load(), 0);
  std::map<std::pair<std::string, int64_t>, double> all;
  for (const auto& of_writer : expected) all.insert(of_writer.begin(), of_writer.end());
  double sum = 0;
  for (const auto& [key, value] : all) sum += value;
  for (int round = 0; round < 2; ++round) {  // as it is, and once all is compacted
    Lake fresh = OpenLake();
    EXPECT_EQ(Ask(fresh, "SELECT count(*) FROM t"), std::to_string(all.size()));
    EXPECT_EQ(Ask(fresh, "SELECT CAST(sum(v) AS BIGINT) FROM t"),
              std::to_string(static_cast<int64_t>(sum)));
    ExpectLatestIsTheScan(fresh);
    Table table = Must(fresh.OpenTable("t"));
    Must(Maintain(table));
  }
  Table table = Must(OpenLake().OpenTable("t"));
  EXPECT_EQ(Must(table.Files()).size(), 1u);
  for (const VerifyFinding& finding :
       Must(Verify(table, {.deep = true, .cancelled = {}})).findings) {
    ADD_FAILURE() << finding.file << ": " << finding.what;
  }
}

}  // namespace
}  // namespace timelake::regress

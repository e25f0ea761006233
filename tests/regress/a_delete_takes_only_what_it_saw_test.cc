// A delete takes the rows that the statement saw and no other: whatever is written beside it stays,
// and what a deleted row had replaced does not come to light again.
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "regress/lake_fixture.h"
#include "timelake/maintain.h"

namespace timelake::regress {
namespace {

constexpr int64_t kJanuary = 1'767'398'400'000'000;  // 2026-01-03T00:00:00Z
constexpr int64_t kHour = 3'600'000'000;
constexpr int64_t kDay = 24 * kHour;

using Key = std::pair<std::string, int64_t>;
using Contents = std::map<Key, double>;  // what a query sees

class DeleteTest : public LakeTest {
 protected:
  static Contents ContentsOf(const Lake& lake) {
    Session session = Must(Session::Open(lake));
    const auto rows = Must(Must(session.Sql("SELECT time, device, v FROM t"))->ToTable());
    Contents contents;
    for (int64_t row = 0; row < rows->num_rows(); ++row) {
      const auto at = [&](int column) { return Must(rows->column(column)->GetScalar(row)); };
      const int64_t time = static_cast<const arrow::TimestampScalar&>(*at(0)).value;
      const double v = static_cast<const arrow::DoubleScalar&>(*at(2)).value;
      const bool first = contents.emplace(Key{at(1)->ToString(), time}, v).second;
      EXPECT_TRUE(first) << at(1)->ToString() << " " << time;
    }
    return contents;
  }

  // The newest row of each series, by the index (where there is one) and by a scan.
  static void ExpectLatest(const Lake& lake, const Contents& contents) {
    std::map<std::string, double> expected;
    for (const auto& [key, v] : contents) expected[key.first] = v;  // ordered by time
    for (const char* from_index : {"true", "false"}) {
      Session session = Must(Session::Open(lake));
      Must(Must(session.Sql(fmt::format("SET timelake_latest_from_index = {}", from_index)))
               ->ToTable());
      const auto rows = Must(
          Must(session.Sql("SELECT device, v FROM t QUALIFY row_number() OVER (PARTITION BY device "
                           "ORDER BY time DESC) = 1"))
              ->ToTable());
      std::map<std::string, double> found;
      for (int64_t row = 0; row < rows->num_rows(); ++row) {
        const auto v = Must(rows->column(1)->GetScalar(row));
        found[Must(rows->column(0)->GetScalar(row))->ToString()] =
            static_cast<const arrow::DoubleScalar&>(*v).value;
      }
      EXPECT_EQ(found, expected) << "from the index: " << from_index;
    }
  }

  // Data files on disk that no snapshot names.
  size_t Strays(Lake& lake) {
    Session session = Must(Session::Open(lake));
    std::set<std::string> named;
    Table table = Must(lake.OpenTable("t"));
    for (const SnapshotInfo& snapshot : Must(table.Snapshots())) {
      const auto files =
          Must(Must(session.Sql(fmt::format("SELECT file_path FROM t$files AT (VERSION => {})",
                                            snapshot.snapshot_id)))
                   ->ToTable());
      for (int64_t row = 0; row < files->num_rows(); ++row) {
        named.insert(Must(files->column(0)->GetScalar(row))->ToString().substr(7));
      }
    }
    size_t strays = 0;
    for (const auto& path : FilesBelow(Folder("t") / "data")) strays += !named.contains(path);
    return strays;
  }

  // A lake whose deletes call `meanwhile` once their rows are chosen, with the number of the try.
  Lake Interfered(std::function<void(int)> meanwhile) {
    Lake lake = OpenLake();
    auto tries = std::make_shared<std::atomic<int>>(0);
    lake.impl()->erase = [meanwhile, tries](table::Handle& handle, const table::SettingMap& session,
                                            const table::RowDelete& rows) {
      meanwhile(++*tries);
      return api::DeleteRows(handle, session, rows);
    };
    return lake;
  }

  static MaintainOptions OnlyCompact() {
    MaintainOptions options;
    options.expire = options.retention = options.rollups = false;
    options.full = true;
    return options;
  }
};

class RandomDeletes : public DeleteTest, public ::testing::WithParamInterface<uint64_t> {};

TEST_P(RandomDeletes, LeaveWhatAModelSays) {
  std::mt19937_64 random(GetParam());
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
  Lake lake = OpenLake();
  TableOptions options = Readings();
  options.ingest_time = false;
  Table table = Must(lake.CreateTable("t", kColumns, options));
  Contents model;
  double next = 1;
  for (int step = 0; step < 14; ++step) {
    switch (below(4)) {
      case 0:
      case 1: {
        std::vector<Row> rows;
        for (int64_t r = 1 + below(6); r > 0; --r) {
          rows.push_back({kJanuary + below(3) * kDay + below(4) * kHour,
                          fmt::format("d{}", below(4)), next++});
          model[{rows.back().device, rows.back().time_us}] = rows.back().value;
        }
        TL_OK(table.Append(Batch(rows)).status());
        break;
      }
      case 2: {
        const double least = static_cast<double>(below(static_cast<uint64_t>(next) + 1));
        const std::string device = fmt::format("d{}", below(4));
        const int64_t from = kJanuary + below(3) * kDay;
        const int64_t kind = below(4);
        const std::string where[] = {
            fmt::format("v >= {} AND v < {}", least, least + 5),
            fmt::format("device = '{}'", device),
            fmt::format("time >= make_timestamptz({}::BIGINT)", from),
            fmt::format("device = '{}' AND time < make_timestamptz({}::BIGINT)", device, from)};
        const auto matches = [&](const Key& key, double v) {
          switch (kind) {
            case 0: return v >= least && v < least + 5;
            case 1: return key.first == device;
            case 2: return key.second >= from;
            default: return key.first == device && key.second < from;
          }
        };
        DeleteOptions only_count;
        only_count.dry_run = true;
        const auto before = static_cast<int64_t>(model.size());
        std::erase_if(model, [&](const auto& row) { return matches(row.first, row.second); });
        const auto gone = before - static_cast<int64_t>(model.size());
        EXPECT_EQ(Must(table.Delete(where[kind], only_count)).rows, gone) << where[kind];
        const int64_t version = table.version();
        const DeleteResult done = Must(table.Delete(where[kind]));
        EXPECT_EQ(done.rows, gone) << where[kind];
        EXPECT_EQ(done.version > version, gone > 0);
        break;
      }
      default: Must(Maintain(table, OnlyCompact())); break;
    }
    ASSERT_EQ(ContentsOf(lake), model) << "step " << step;
    ExpectLatest(lake, model);
  }
  VerifyOptions deep;
  deep.deep = true;
  EXPECT_TRUE(Must(Verify(table, deep)).findings.empty());
  EXPECT_EQ(Strays(lake), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomDeletes, ::testing::Range<uint64_t>(1, 11));

TEST_F(DeleteTest, DropsWholeFilesWithoutReadingThem) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{kJanuary, "a", 1}, {kJanuary + kDay, "a", 2}})).status());
  TL_OK(table.Append(Batch({{kJanuary + kHour, "b", 3}})).status());
  for (const FileInfo& file : Must(table.Files())) {
    if (file.partition != "time_day=2026-01-03") continue;
    std::filesystem::resize_file(file.path.substr(7), 1);  // nobody can read it
  }
  const DeleteResult done =
      Must(OpenLake().OpenTable("t").ValueOrDie().Delete("time < '2026-01-04'"));
  EXPECT_EQ(done.rows, 2);
  EXPECT_EQ(done.files_dropped, 2);
  EXPECT_EQ(done.files_rewritten, 0);
  const auto summary = Must(table.Snapshots()).back().summary;
  EXPECT_EQ(summary.at("operation"), "delete");
  EXPECT_EQ(summary.at("total-records"), "1");
  EXPECT_EQ(Ask(OpenLake(), "SELECT v FROM t"), "2");
}

TEST_F(DeleteTest, GivesNewFilesTheSequenceNumberOfTheOldOnes) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{kJanuary, "a", 1}, {kJanuary, "b", 2}})).status());
  TL_OK(table.Append(Batch({{kJanuary, "a", 3}})).status());
  const DeleteResult done = Must(table.Delete("device = 'b'"));
  EXPECT_EQ(done.files_rewritten + done.files_dropped, 1);
  // What is left of the first file is older than the second, as ever.
  EXPECT_EQ(ContentsOf(lake), (Contents{{{"a", kJanuary}, 3}}));
  const auto summary = Must(table.Snapshots()).back().summary;
  EXPECT_EQ(summary.at("total-data-files"), std::to_string(Must(table.Files()).size()));
  for (const FileInfo& file : Must(table.Files())) EXPECT_LE(file.sequence_number, 2);
}

TEST_F(DeleteTest, KeepsRowsThatAreAppendedMeanwhile) {
  Table table = Must(OpenLake().CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{kJanuary, "a", 1}, {kJanuary, "b", 2}})).status());
  int tries = 0;
  Lake lake = Interfered([&](int number) {
    tries = number;
    // A later version of the row that goes, and another that the condition holds for.
    TL_OK(table.Append(Batch({{kJanuary, "a", 5}, {kJanuary + kHour, "a", 6}})).status());
  });
  EXPECT_EQ(Ask(lake, "DELETE FROM t WHERE device = 'a'"), "1");
  EXPECT_EQ(tries, 1);
  const Contents expected = {
      {{"a", kJanuary}, 5}, {{"a", kJanuary + kHour}, 6}, {{"b", kJanuary}, 2}};
  EXPECT_EQ(ContentsOf(lake), expected);
  ExpectLatest(lake, expected);
}

TEST_F(DeleteTest, LooksAgainWhereFilesWereMergedMeanwhile) {
  Table table = Must(OpenLake().CreateTable("t", kColumns, Readings()));
  for (int i = 0; i < 4; ++i) {
    TL_OK(table.Append(Batch({{kJanuary + i * kHour, "a", 1.0 * i}, {kJanuary, "b", 10.0 + i}}))
              .status());
  }
  int tries = 0;
  Lake lake = Interfered([&](int number) {
    tries = number;
    if (number == 1) Must(Maintain(table, OnlyCompact()));
  });
  EXPECT_EQ(Ask(lake, "DELETE FROM t WHERE v < 2 OR v = 13"), "3");
  EXPECT_EQ(tries, 2);
  const Contents expected = {{{"a", kJanuary + 2 * kHour}, 2}, {{"a", kJanuary + 3 * kHour}, 3}};
  EXPECT_EQ(ContentsOf(lake), expected);
  ExpectLatest(lake, expected);
  EXPECT_EQ(Strays(lake), 0u);
}

TEST_F(DeleteTest, LooksAgainWhereRowsWereDeletedMeanwhile) {
  Table table = Must(OpenLake().CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{kJanuary, "a", 1}, {kJanuary, "b", 2}, {kJanuary, "c", 3}})).status());
  int tries = 0;
  Lake lake = Interfered([&](int number) {
    tries = number;
    if (number == 1) Must(table.Delete("device = 'b'"));
  });
  EXPECT_EQ(Ask(lake, "DELETE FROM t WHERE device <= 'b'"), "1");
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(ContentsOf(lake), (Contents{{{"c", kJanuary}, 3}}));
}

// The row that replaced an older one is gone: the older one is no longer without meaning.
TEST_F(DeleteTest, LooksAgainWhereTheRollbackOfAnAppendBringsRowsBack) {
  Table table = Must(OpenLake().CreateTable("t", kColumns, Readings()));
  const auto first =
      Must(table.Append(Batch({{kJanuary, "a", 1}, {kJanuary, "b", 2}}))).snapshot_id;
  TL_OK(table.Append(Batch({{kJanuary, "a", 3}})).status());
  int tries = 0;
  Lake lake = Interfered([&](int number) {
    tries = number;
    if (number == 1) TL_OK(table.Rollback(first));
  });
  EXPECT_EQ(Ask(lake, "DELETE FROM t WHERE device = 'b'"), "1");
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(ContentsOf(lake), (Contents{{{"a", kJanuary}, 1}}));
  ExpectLatest(lake, {{{"a", kJanuary}, 1}});
}

TEST_F(DeleteTest, LooksAgainWhereColumnsWereChangedMeanwhile) {
  Table table = Must(OpenLake().CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{kJanuary, "a", 1}, {kJanuary, "b", 2}})).status());
  int tries = 0;
  Lake lake = Interfered([&](int number) {
    tries = number;
    if (number != 1) return;
    TL_OK(table.ChangeSchema({{SchemaChange::Kind::kAdd, "w", "double", ""}}));
  });
  EXPECT_EQ(Ask(lake, "DELETE FROM t WHERE device = 'a'"), "1");
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(ContentsOf(lake), (Contents{{{"b", kJanuary}, 2}}));
}

TEST_F(DeleteTest, GivesUpAfterSomeTriesAndLeavesNothing) {
  Table table = Must(OpenLake().CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{kJanuary, "a", 1}, {kJanuary, "b", 2}})).status());
  Lake lake = Interfered([&](int number) {
    TL_OK(table.Append(Batch({{kJanuary + number * kHour, "b", 3}})).status());
    Must(Maintain(table, OnlyCompact()));
  });
  Session session = Must(Session::Open(lake));
  const auto refused = session.Sql("DELETE FROM t WHERE device = 'a'");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(KindOf(refused.status()), ErrorKind::kConflict) << refused.status();
  EXPECT_NE(refused.status().message().find("default.t"), std::string::npos);
  EXPECT_EQ(Ask(OpenLake(), "SELECT count(*) FROM t"), "12");
  EXPECT_EQ(Strays(lake), 0u);
}

TEST_F(DeleteTest, OfAFileThatCannotBeReadLeavesNothing) {
  Lake lake = OpenLake();
  Table table = Must(lake.CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{kJanuary, "a", 1}, {kJanuary, "b", 2}})).status());
  TL_OK(table.Append(Batch({{kJanuary + kDay, "a", 1}, {kJanuary + kDay, "b", 2}})).status());
  const auto files = Must(table.Files());
  std::filesystem::resize_file(files.back().path.substr(7), 1);
  const auto before = FilesBelow(Folder("t"));
  const auto failed = Must(OpenLake().OpenTable("t")).Delete("device = 'a'");
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.status().message().find(files.back().path), std::string::npos)
      << failed.status().message();
  EXPECT_EQ(FilesBelow(Folder("t")), before);
}

TEST_F(DeleteTest, NeedsACondition) {
  Table table = Must(OpenLake().CreateTable("t", kColumns, Readings()));
  TL_OK(table.Append(Batch({{kJanuary, "a", 1}})).status());
  for (const char* where : {"", "  ", "nosuch = 1", "v = 'x'", "v >", "v = 1; DROP TABLE t"}) {
    const auto refused = table.Delete(where);
    ASSERT_FALSE(refused.ok()) << where;
    EXPECT_EQ(KindOf(refused.status()), ErrorKind::kInvalidArgument) << refused.status();
    EXPECT_NE(refused.status().message().find("default.t"), std::string::npos);
  }
  EXPECT_EQ(Must(table.Delete("true -- all")).rows, 1);
}

// Writers, a merger and a deleter at once: of the rows that no condition ever held for each is
// there once, of the others none.
TEST_F(DeleteTest, BesideWritersLosesNothing) {
  constexpr int kWriters = 2;
  constexpr int kAppends = 25;
  Table table = Must(OpenLake().CreateTable("t", kColumns, Readings()));
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      Table own = Must(OpenLake().OpenTable("t"));
      for (int i = 0; i < kAppends; ++i) {
        const double v = writer * kAppends + i;
        Must(own.Append(Batch({{kJanuary + i * kHour, fmt::format("w{}", writer), v},
                               {kJanuary + i * kHour, fmt::format("x{}", writer), v}})));
      }
    });
  }
  std::atomic<int64_t> deleted{0};
  threads.emplace_back([&] {
    Table own = Must(OpenLake().OpenTable("t"));
    while (!done) {
      const auto result = own.Delete("device LIKE 'x%'");
      if (result.ok()) {
        deleted += result->rows;
      } else {
        EXPECT_EQ(KindOf(result.status()), ErrorKind::kConflict) << result.status();
      }
    }
  });
  threads.emplace_back([&] {
    Table own = Must(OpenLake().OpenTable("t"));
    while (!done) Must(Maintain(own, OnlyCompact()));
  });
  for (int writer = 0; writer < kWriters; ++writer) threads[static_cast<size_t>(writer)].join();
  done = true;
  for (size_t i = kWriters; i < threads.size(); ++i) threads[i].join();
  deleted += Must(table.Delete("device LIKE 'x%'")).rows;
  EXPECT_EQ(deleted, kWriters * kAppends);
  Contents expected;
  for (int writer = 0; writer < kWriters; ++writer) {
    for (int i = 0; i < kAppends; ++i) {
      expected[{fmt::format("w{}", writer), kJanuary + i * kHour}] = writer * kAppends + i;
    }
  }
  Lake lake = OpenLake();
  EXPECT_EQ(ContentsOf(lake), expected);
  ExpectLatest(lake, expected);
}

}  // namespace
}  // namespace timelake::regress

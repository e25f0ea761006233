// A query reads the snapshot that it began with. When maintenance expires it meanwhile and deletes
// its files, the error says so; it is not a damaged table.

#include <filesystem>
#include <optional>

#include <gmock/gmock.h>

#include "regress/lake_fixture.h"
#include "timelake/session.h"

namespace timelake::regress {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kJanuary = 1'767'398'400'000'000;  // 2026-01-03T00:00:00Z

std::string MessageText(const arrow::Status& status) { return status.message(); }

// A table of one file an append, and a session on it.
class ASnapshotThatExpires : public LakeTest {
 protected:
  void Fill(int appends) {
    lake_.emplace(OpenLake());
    TableOptions options = Readings();
    options.properties = {{"snapshot-retention", "0s"},
                          {"min-snapshots", "1"},
                          {"metadata-min-age", "10ms"},
                          {"delete-min-age", "10ms"}};
    table_.emplace(Must(lake_->CreateTable("t", kColumns, options)));
    for (int i = 0; i < appends; ++i) {
      Must(table_->Append(Batch({{kJanuary + i * 1'000'000, "a", 1.0}})));
    }
    SessionOptions session;
    session.threads = 1;
    session_.emplace(Must(Session::Open(*lake_, session)));
  }

  arrow::Result<std::shared_ptr<arrow::Table>> Query(const std::string& text) {
    ARROW_ASSIGN_OR_RAISE(auto reader, session_->Sql(text));
    return reader->ToTable();
  }

  std::optional<Lake> lake_;
  std::optional<Table> table_;
  std::optional<Session> session_;
};

TEST_F(ASnapshotThatExpires, UnderAQueryIsNamed) {
  Fill(3);
  const int64_t old = Must(table_->Snapshots()).back().snapshot_id;
  Must(Query("BEGIN"));
  Must(Query("SELECT count(*) FROM t WHERE v > 100"));  // pins
  // What maintenance does once nothing younger needs the files.
  for (const FileInfo& file : Must(table_->Files())) {
    ASSERT_TRUE(std::filesystem::remove(file.path.substr(7))) << file.path;
  }
  const Status status = Query("SELECT sum(v), sum(v + 1) FROM t").status();
  EXPECT_EQ(KindOf(status), ErrorKind::kNotFound) << status;
  EXPECT_THAT(MessageText(status),
              AllOf(HasSubstr("table default.t: "), HasSubstr(".parquet is missing"),
                    HasSubstr("snapshot " + std::to_string(old) + " of version 4 may have expired"),
                    HasSubstr("run the query again")));
  Must(Query("ROLLBACK"));
  Must(Query("SELECT 1"));
}

// A running scan has its files open; on a local disk their bytes stay until it has ended.
TEST_F(ASnapshotThatExpires, UnderAStreamOnLocalDiskDoesNoHarm) {
  Fill(0);
  std::vector<Row> rows;
  for (int64_t i = 0; i < 20'000; ++i) rows.push_back({kJanuary + i, "a", 1.0});
  for (int64_t day = 0; day < 10; ++day) {
    for (Row& row : rows) row.time_us += int64_t{86'400'000'000};
    Must(table_->Append(Batch(rows)));
  }
  auto reader = Must(session_->Sql("SELECT time, repeat(device, 100) AS r FROM t"));
  std::shared_ptr<arrow::RecordBatch> batch;
  TL_OK(reader->ReadNext(&batch));
  ASSERT_TRUE(batch);
  std::filesystem::remove_all(root_ / "default" / "t" / "data");
  int64_t read = 0;
  while (batch) {
    read += batch->num_rows();
    TL_OK(reader->ReadNext(&batch));
  }
  EXPECT_EQ(read, 200'000);
}

TEST_F(ASnapshotThatExpires, BeforeAQueryIsNamed) {
  Fill(3);
  const auto snapshots = Must(table_->Snapshots());
  const std::string first = std::to_string(snapshots.front().snapshot_id);
  const std::string at = "SELECT count(*) FROM t AT (VERSION => " + first + ")";
  EXPECT_EQ(Must(Query(at))->column(0)->GetScalar(0).ValueOrDie()->ToString(), "1");
  MaintainOptions expire;
  expire.compact = false;
  Must(Maintain(*table_, expire));
  const Status status = Query(at).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kNotFound);
  EXPECT_THAT(
      MessageText(status),
      AllOf(HasSubstr("table default.t: there is no snapshot " + first),
            HasSubstr("it holds 1 snapshot: " + std::to_string(snapshots.back().snapshot_id))));
  const Status time = Query("SELECT * FROM t AT (TIMESTAMP => '2020-01-01')").status();
  EXPECT_THAT(MessageText(time), HasSubstr("no snapshot is known that was current at "
                                           "2020-01-01T00:00:00Z"));
}

}  // namespace
}  // namespace timelake::regress

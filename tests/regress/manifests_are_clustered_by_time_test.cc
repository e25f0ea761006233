// Manifests of a table whose rows came in any order of time are clustered, appends leave them so,
// and no file is lost on the way.
#include <algorithm>
#include <map>
#include <random>

#include <fmt/format.h>

#include "regress/lake_fixture.h"
#include "table/manifests.h"
#include "timelake/maintain.h"

namespace timelake::regress {
namespace {

constexpr int64_t kJanuary = 1'767'398'400'000'000;  // 2026-01-03T00:00:00Z
constexpr int64_t kDay = 86'400'000'000;

class Manifests : public LakeTest {
 protected:
  void SetUp() override {
    LakeTest::SetUp();
    lake_.emplace(OpenLake());
    TableOptions options = Readings();
    options.properties["commit.manifest.target-size-bytes"] = "20000";
    options.properties["max-snapshots"] = "1000";
    table_.emplace(Must(lake_->CreateTable("t", kColumns, options)));
    handle_ = Must(lake_->impl()->catalog->Open({"default", "t"}));
  }

  void Backfill(int appends) {
    for (int i = 0; i < appends; ++i) {
      std::vector<Row> rows;
      for (int r = 0; r < 6; ++r) {
        rows.push_back({kJanuary + static_cast<int64_t>(random_() % 300) * kDay,
                        fmt::format("d{}", r), next_++});
      }
      TL_OK(table_->Append(Batch(rows)).status());
    }
  }

  struct Entry {
    int64_t sequence = 0;
    int64_t file_sequence = 0;
    int64_t snapshot = 0;
    bool operator==(const Entry&) const = default;
  };
  // What is known of each live file; fails if one is there twice.
  std::map<std::string, Entry> Entries() {
    Must(table_->Refresh());
    std::map<std::string, Entry> entries;
    const auto& env = handle_->env();
    const auto* head = iceberg::CurrentSnapshot(*handle_->known().metadata);
    for (const auto& row : *Must(table::ReadRows(env, *head))) {
      for (const auto& entry : Must(table::ReadEntries(env, row))->entries) {
        if (entry.status == iceberg::EntryStatus::kDeleted) continue;
        const Entry known{entry.sequence_number.value(), entry.file_sequence_number.value(),
                          entry.snapshot_id.value()};
        EXPECT_TRUE(entries.emplace(entry.file.file_path, known).second) << entry.file.file_path;
      }
    }
    return entries;
  }

  // Manifests that a query of one day opens.
  int64_t Opened() {
    Session session = Must(Session::Open(*lake_));
    const auto plan = Must(
        Must(session.Sql("EXPLAIN ANALYZE SELECT sum(v) FROM t WHERE time >= '2026-05-01' AND time "
                         "< '2026-05-02'"))
            ->ToTable());
    const std::string text = Must(plan->column(1)->GetScalar(0))->ToString();
    int64_t pruned = 0, all = 0;
    const auto at = text.find_first_of("0123456789", text.find("Manifests:"));
    EXPECT_NE(at, std::string::npos) << text;
    EXPECT_EQ(std::sscanf(text.c_str() + at, "%ld of %ld", &pruned, &all), 2) << text;
    return all - pruned;
  }

  static MaintainOptions Only() {
    MaintainOptions options;
    options.compact = options.retention = options.expire = options.orphans = false;
    return options;
  }

  std::mt19937_64 random_{42};
  double next_ = 0;
  std::optional<Lake> lake_;
  std::optional<Table> table_;
  std::shared_ptr<table::Handle> handle_;
};

TEST_F(Manifests, OfABackfillAreClustered) {
  Backfill(100);
  const auto entries = Entries();
  const std::string rows = Ask(*lake_, "SELECT count(*) || ' ' || sum(v) FROM t");
  const std::string index = Must(table_->Info()).last_value_index;
  const int64_t before = Opened();
  MaintainOptions dry = Only();
  dry.dry_run = true;
  MaintainReport report = Must(Maintain(*table_, dry));
  ASSERT_EQ(report.planned.size(), 1u);
  EXPECT_EQ(report.planned[0].task, "manifests");
  EXPECT_EQ(report.manifests_rewritten, 0);
  const int64_t planned = report.planned[0].files;

  report = Must(Maintain(*table_, Only()));
  EXPECT_EQ(report.manifests_rewritten, planned);
  EXPECT_GT(report.manifests_written, 3);
  EXPECT_EQ(Entries(), entries);
  EXPECT_EQ(Ask(*lake_, "SELECT count(*) || ' ' || sum(v) FROM t"), rows);
  EXPECT_EQ(Must(table_->Info()).last_value_index, index);
  EXPECT_LT(Opened(), before);
  EXPECT_LE(Opened(), 3);
  const auto snapshot = Must(table_->Snapshots()).back();
  EXPECT_EQ(snapshot.operation, "replace");
  EXPECT_EQ(snapshot.summary.at("total-data-files"), std::to_string(entries.size()));
  // Done is done.
  const int64_t version = table_->version();
  EXPECT_EQ(Must(Maintain(*table_, Only())).manifests_rewritten, 0);
  EXPECT_EQ(Must(table_->Refresh()), version);
  // Appends do not undo it: what they merge is what they added.
  const int64_t written = report.manifests_written;
  for (int i = 0; i < 30; ++i) {
    TL_OK(table_->Append(Batch({{kJanuary + 299 * kDay, "d0", next_++}})).status());
  }
  EXPECT_LE(Opened(), 3);
  EXPECT_LE(Must(table_->Info()).manifests, written + 9);
  EXPECT_TRUE(Must(Verify(*table_)).findings.empty());
}

TEST_F(Manifests, OfRowsInTheOrderOfTimeStay) {
  for (int i = 0; i < 60; ++i) {
    TL_OK(table_->Append(Batch({{kJanuary + i * kDay, "a", 1}, {kJanuary + i * kDay, "b", 1}}))
              .status());
  }
  EXPECT_EQ(Must(Maintain(*table_, Only())).manifests_rewritten, 0);
}

// A commit that comes between is not lost.
TEST_F(Manifests, ArePlannedAnewOverAnAppend) {
  Backfill(100);
  Table other = Must(OpenLake().OpenTable("t"));
  for (int i = 0; i < 3; ++i) {  // the handle of table_ falls behind
    TL_OK(other.Append(Batch({{kJanuary + i, "x", 1}})).status());
  }
  EXPECT_GT(Must(Maintain(*table_, Only())).manifests_rewritten, 0);
  EXPECT_EQ(Ask(OpenLake(), "SELECT count(*) FROM t WHERE device = 'x'"), "3");
  MaintainOptions leave = Only();
  leave.manifests = false;
  Backfill(60);
  EXPECT_EQ(Must(Maintain(*table_, leave)).manifests_rewritten, 0);
}

}  // namespace
}  // namespace timelake::regress

#include "table/rollup_history.h"

#include <gtest/gtest.h>

#include "table/rollup_position.h"
#include "table/rollup_properties.h"

namespace timelake::table {
namespace {

// Commits snapshots one after the other, as the commit path does.
class History : public ::testing::Test {
 protected:
  void SetUp() override { base_.properties[kRollups] = "iot.r"; }

  std::optional<RollupHistory> Commit(const std::string& operation,
                                      std::optional<int64_t> cutoff = std::nullopt) {
    iceberg::Snapshot snapshot;
    snapshot.sequence_number = ++base_.last_sequence_number;
    snapshot.snapshot_id = 1000 + snapshot.sequence_number;
    if (const auto* parent = iceberg::CurrentSnapshot(base_)) {
      snapshot.parent_snapshot_id = parent->snapshot_id;
    }
    snapshot.summary["operation"] = operation;
    if (cutoff) snapshot.summary[kRetentionCutoff] = std::to_string(*cutoff);
    --base_.last_sequence_number;
    CarryHistory(base_, &snapshot);
    ++base_.last_sequence_number;
    base_.snapshots.push_back(snapshot);
    base_.current_snapshot_id = snapshot.snapshot_id;
    return HistoryOf(snapshot);
  }

  // Snapshots of another engine say nothing.
  void CommitForeign(const std::string& operation) {
    Commit(operation);
    base_.snapshots.back().summary = iceberg::Summary();
    base_.snapshots.back().summary["operation"] = operation;
  }

  iceberg::TableMetadata base_;
};

TEST_F(History, TablesWithoutRollupsSayNothing) {
  base_.properties.clear();
  EXPECT_EQ(Commit("append"), std::nullopt);
}

TEST_F(History, GoesOnOverAppendsAndMerges) {
  EXPECT_EQ(Commit("append"), (RollupHistory{1}));
  EXPECT_EQ(Commit("append"), (RollupHistory{1}));
  EXPECT_EQ(Commit("replace"), (RollupHistory{1}));
}

TEST_F(History, BeginsAnewWithEveryDelete) {
  Commit("append");
  EXPECT_EQ(Commit("delete"), (RollupHistory{2}));
  EXPECT_EQ(Commit("append"), (RollupHistory{2}));
  EXPECT_EQ(Commit("overwrite"), (RollupHistory{4}));
}

TEST_F(History, SaysWhatRetentionDropped) {
  Commit("append");
  EXPECT_EQ(Commit("delete", 500), (RollupHistory{1, 500}));
  EXPECT_EQ(Commit("delete", 400), (RollupHistory{1, 500}));
  EXPECT_EQ(Commit("append"), (RollupHistory{1, 500}));
  EXPECT_EQ(Commit("delete"), (RollupHistory{5}));
}

TEST_F(History, BeginsBehindWhatOthersWrote) {
  Commit("append");
  CommitForeign("delete");
  EXPECT_EQ(Commit("append"), (RollupHistory{2}));
  EXPECT_EQ(Commit("append"), (RollupHistory{2}));
}

TEST_F(History, BeginsAnewBehindARollback) {
  Commit("append");
  const int64_t before = base_.current_snapshot_id.value();
  Commit("append");
  base_.current_snapshot_id = before;
  EXPECT_EQ(Commit("append"), (RollupHistory{3}));
  EXPECT_EQ(Commit("append"), (RollupHistory{3}));
}

}  // namespace
}  // namespace timelake::table

#include "maintain/expiry.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace timelake::maintain {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr int64_t kNow = 1'000'000;

// Snapshots by hand; ages in ms before kNow.
class Expiry : public ::testing::Test {
 protected:
  Expiry() {
    settings_ = table::ResolveSettings({{"timelake.snapshot-retention", "100ms"},
                                        {"timelake.min-snapshots", "2"},
                                        {"timelake.max-snapshots", "5"}})
                    .ValueOrDie();
  }

  void Add(int64_t id, int64_t age, std::optional<int64_t> parent = std::nullopt) {
    iceberg::Snapshot snapshot;
    snapshot.snapshot_id = id;
    snapshot.timestamp_ms = kNow - age;
    snapshot.parent_snapshot_id = parent;
    metadata_.snapshots.push_back(snapshot);
  }

  iceberg::SnapshotRef& Ref(const std::string& name, int64_t id, const std::string& type) {
    iceberg::SnapshotRef& ref = metadata_.refs[name];
    ref.snapshot_id = id;
    ref.type = type;
    if (name == "main") metadata_.current_snapshot_id = id;
    return ref;
  }

  ExpiryPlan Plan() const { return PlanExpiry(metadata_, settings_, kNow); }

  iceberg::TableMetadata metadata_;
  table::Settings settings_;
};

TEST_F(Expiry, MainKeepsTheNewestAndTheYoung) {
  Add(1, 900);
  Add(2, 800, 1);
  Add(3, 101, 2);
  Add(4, 100, 3);
  Add(5, 0, 4);
  Ref("main", 5, "branch");
  EXPECT_THAT(Plan().expire, ElementsAre(1, 2, 3));
  settings_.snapshot_retention_us = 0;
  EXPECT_THAT(Plan().expire, ElementsAre(1, 2, 3));  // two stay
  settings_.snapshot_retention_us = 850'000;
  EXPECT_THAT(Plan().expire, ElementsAre(1));
  settings_.max_snapshots = 3;
  EXPECT_THAT(Plan().expire, ElementsAre(1, 2));
  settings_.keep_snapshots_until_ms = kNow + 1;
  EXPECT_THAT(Plan().expire, IsEmpty());
}

// Snapshots of one millisecond, as many commits to a table in memory are.
TEST_F(Expiry, OfNoRetentionNoneIsYoung) {
  Add(1, 0);
  Add(2, 0, 1);
  Add(3, -1, 2);
  Add(4, -2, 3);
  Ref("main", 4, "branch");
  EXPECT_THAT(Plan().expire, IsEmpty());
  settings_.snapshot_retention_us = 0;
  EXPECT_THAT(Plan().expire, ElementsAre(1, 2));
  settings_.snapshot_retention_us = 1000;
  Ref("main", 4, "branch").max_snapshot_age_ms = 0;
  EXPECT_THAT(Plan().expire, ElementsAre(1, 2));
}

TEST_F(Expiry, BranchesAndTagsKeepTheirs) {
  Add(1, 900);
  Add(2, 800, 1);
  Add(3, 700, 2);  // the branch leaves main at 2
  Add(4, 600, 2);
  Add(5, 500, 4);
  Add(6, 400, 5);
  Ref("main", 6, "branch");
  auto& branch = Ref("audit", 3, "branch");
  Ref("year-end", 1, "tag");
  EXPECT_THAT(Plan().expire, ElementsAre(2, 4));  // 6 and 5 of main, 3 of the branch, 1 of the tag
  branch.min_snapshots_to_keep = 2;
  EXPECT_THAT(Plan().expire, ElementsAre(4));
  branch.min_snapshots_to_keep = std::nullopt;
  branch.max_snapshot_age_ms = 800;
  EXPECT_THAT(Plan().expire, ElementsAre(4));
  branch.max_snapshot_age_ms = 799;
  EXPECT_THAT(Plan().expire, ElementsAre(2, 4));
}

TEST_F(Expiry, MainsOwnRuleComesFirst) {
  Add(1, 900);
  Add(2, 800, 1);
  Add(3, 700, 2);
  auto& main = Ref("main", 3, "branch");
  EXPECT_THAT(Plan().expire, ElementsAre(1));
  main.min_snapshots_to_keep = 1;
  EXPECT_THAT(Plan().expire, ElementsAre(1, 2));
  main.max_snapshot_age_ms = 900;
  EXPECT_THAT(Plan().expire, IsEmpty());
}

TEST_F(Expiry, RefsGoWhenTheyAreOld) {
  Add(1, 900);
  Add(2, 800, 1);
  Add(3, 0, 2);
  Ref("main", 3, "branch").max_ref_age_ms = 0;  // main never does
  Ref("old", 1, "tag").max_ref_age_ms = 899;
  Ref("young", 1, "tag").max_ref_age_ms = 900;
  const ExpiryPlan plan = Plan();
  EXPECT_THAT(plan.drop_refs, UnorderedElementsAre("old"));
  EXPECT_THAT(plan.expire, IsEmpty());  // 1 by the young tag, 2 as one of two
  metadata_.refs.erase("young");
  EXPECT_THAT(Plan().expire, ElementsAre(1));
  settings_.keep_snapshots_until_ms = kNow + 1;
  EXPECT_THAT(Plan().drop_refs, IsEmpty());
}

TEST_F(Expiry, WhatBelongsToNoBranchStaysWhileYoung) {
  Add(1, 500);
  Add(2, 90, 1);   // rolled back over
  Add(3, 120, 1);  // as well
  Add(4, 10, 1);
  Ref("main", 4, "branch");
  EXPECT_THAT(Plan().expire, ElementsAre(3));
}

// Whatever the history: what a ref points at stays, least and most hold, and what is kept and what
// goes are all there is. Planned again on what is left, nothing more goes.
TEST_F(Expiry, PromisesHoldOfRandomHistories) {
  std::mt19937_64 random(1);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  for (int round = 0; round < 500; ++round) {
    metadata_ = {};
    const int64_t count = 1 + below(12);
    for (int64_t id = 1; id <= count; ++id) {
      Add(id, (count - id) * below(60),
          id > 1 ? std::optional<int64_t>(1 + below(id - 1)) : std::nullopt);
    }
    Ref("main", 1 + below(count), "branch");
    for (const char* name : {"a", "b"}) {
      auto& ref = Ref(name, 1 + below(count), below(2) ? "branch" : "tag");
      if (below(2)) ref.max_ref_age_ms = below(300);
      if (ref.type == "branch" && below(2)) ref.min_snapshots_to_keep = 1 + below(3);
    }
    const ExpiryPlan plan = Plan();
    EXPECT_EQ(plan.keep.size() + plan.expire.size(), metadata_.snapshots.size());
    EXPECT_TRUE(plan.keep.contains(*metadata_.current_snapshot_id));
    auto left = metadata_;
    std::erase_if(left.snapshots,
                  [&](const auto& s) { return !plan.keep.contains(s.snapshot_id); });
    for (const auto& name : plan.drop_refs) left.refs.erase(name);
    for (const auto& [name, ref] : left.refs) EXPECT_TRUE(plan.keep.contains(ref.snapshot_id));
    const ExpiryPlan again = PlanExpiry(left, settings_, kNow);
    EXPECT_THAT(again.drop_refs, IsEmpty());
    for (const int64_t id : again.expire) {
      // Only where the chain is cut: what lies behind a gap belongs to no branch any more.
      ADD_FAILURE() << "round " << round << ": " << id;
    }
  }
}

}  // namespace
}  // namespace timelake::maintain

#include "maintain/orphans_plan.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace timelake::maintain {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kHour = 3'600'000'000;

class Orphans : public ::testing::Test {
 protected:
  void Add(const std::string& key, int64_t age_us = 100 * kHour, int64_t size = 7) {
    store::ObjectInfo info;
    info.key = key;
    info.size = size;
    info.mtime_us = kNow - age_us;
    listed_.push_back(info);
  }

  OrphanPlan Plan(int64_t min_age_us = 72 * kHour) const {
    OrphanRules rules;
    rules.folder = "b/wh/default/t";
    rules.date_us = kNow;
    rules.min_age_us = min_age_us;
    rules.in_use = [&](const std::string& key) { return in_use_.contains(key); };
    return PlanOrphans(listed_, rules);
  }

  static constexpr int64_t kNow = 1'767'398'400'000'000;
  std::vector<store::ObjectInfo> listed_;
  std::set<std::string> in_use_;
};

TEST_F(Orphans, AreOldAndNotInUse) {
  Add("b/wh/default/t/data/time_day=2026-01-03/a.parquet");
  Add("b/wh/default/t/data/time_day=2026-01-03/b.parquet");
  Add("b/wh/default/t/data/c.parquet", 72 * kHour);
  Add("b/wh/default/t/data/d.parquet", 72 * kHour - 1);
  Add("b/wh/default/t/metadata/e-m.avro");
  Add("b/wh/default/t/metadata/f.parquet", -kHour);  // of a clock ahead
  in_use_ = {"b/wh/default/t/data/time_day=2026-01-03/b.parquet"};
  const OrphanPlan plan = Plan();
  EXPECT_THAT(plan.keys,
              ElementsAre("b/wh/default/t/data/time_day=2026-01-03/a.parquet",
                          "b/wh/default/t/data/c.parquet", "b/wh/default/t/metadata/e-m.avro"));
  EXPECT_EQ(plan.bytes, 21);
  EXPECT_EQ(plan.young, 2);
}

TEST_F(Orphans, LieInTheFoldersOfThisTableOnly) {
  Add("b/wh/default/t_2/data/a.parquet");
  Add("b/wh/default/t_2/metadata/a-m.avro");
  Add("b/wh/default/t/data_2/a.parquet");
  Add("b/wh/default/t/data.parquet");
  Add("b/wh/default/t/other/a.parquet");
  Add("b/wh/default/t2/data/a.parquet");
  Add("wh/default/t/data/a.parquet");
  const OrphanPlan plan = Plan();
  EXPECT_TRUE(plan.keys.empty());
  EXPECT_EQ(plan.young, 0);
}

TEST_F(Orphans, AreNoMetadataFilesAndNothingHidden) {
  for (const char* name :
       {"v1.metadata.json", "00001-x.metadata.json", "v3.gz.metadata.json", "v3.metadata.json.gz",
        "version-hint.text", ".v1.metadata.json.crc", "_SUCCESS", ".hidden", ""}) {
    Add(std::string("b/wh/default/t/metadata/") + name);
    Add(std::string("b/wh/default/t/data/") + name);
  }
  EXPECT_TRUE(Plan(0).keys.empty());
}

TEST_F(Orphans, PlanIsIdempotent) {
  for (int i = 0; i < 20; ++i) {
    Add("b/wh/default/t/data/" + std::to_string(i), i * 10 * kHour);
    if (i % 3 == 0) in_use_.insert(listed_.back().key);
  }
  const OrphanPlan plan = Plan();
  EXPECT_FALSE(plan.keys.empty());
  std::erase_if(listed_, [&](const auto& object) {
    return std::find(plan.keys.begin(), plan.keys.end(), object.key) != plan.keys.end();
  });
  EXPECT_TRUE(Plan().keys.empty());
  EXPECT_EQ(Plan().young, plan.young);
}

}  // namespace
}  // namespace timelake::maintain

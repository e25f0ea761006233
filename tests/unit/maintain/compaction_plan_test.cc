// The plan of compaction against its own promises, on random tables.

#include "maintain/compaction_plan.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "maintain/shard.h"

namespace timelake::maintain {
namespace {

using Random = std::mt19937_64;

constexpr int64_t kTarget = 1000;

// A file of rows of one span of series and times, with exact bounds.
struct Sample {
  int spec = 0;
  int partition = 0;
  int64_t sequence = 1;
  int64_t bytes = 100;
  int64_t rows = -1;  // -1: one for 16 bytes
  int first_series = 0, last_series = 9;
  int64_t first = 0, last = 9;
  bool sorted = true;
  bool unfit = false;
  std::set<std::string> deletes = {};
};

// Files as the plan takes them; the series of a range stand in for key facts.
class World {
 public:
  void Add(const Sample& sample) {
    samples_.push_back(sample);
    scan::ScanFile& file = scans_.emplace_back();
    iceberg::DataFile data;
    data.file_path = "f" + std::to_string(1000 + scans_.size());
    data.partition = {iceberg::Value(int32_t{sample.partition})};
    data.file_size_in_bytes = sample.bytes;
    data.record_count = sample.rows >= 0 ? sample.rows : sample.bytes / 16;
    file.data = std::make_shared<const iceberg::DataFile>(std::move(data));
    file.spec_id = sample.spec;
    file.sequence_number = sample.sequence;
    for (const std::string& path : sample.deletes) {
      auto& known = deletes_[path];
      if (!known) {
        auto made = std::make_shared<iceberg::DataFile>();
        made->file_path = path;
        known = made;
      }
      file.equality_deletes.push_back(known);
    }
    LiveFile described;
    described.file = &file;
    described.small = sample.bytes < kTarget / 4 * 3;
    described.sorted = sample.sorted;
    if (sample.unfit) described.unfit = "unfit";
    described.range.first = sample.first;
    described.range.last = sample.last;
    scan::ColumnFacts facts;
    facts.may_be_null = false;
    facts.lower = int32_t{sample.first_series};
    facts.upper = int32_t{sample.last_series};
    described.range.keys = {facts};
    files_.push_back(std::move(described));
  }

  const std::vector<LiveFile>& files() const { return files_; }
  const Sample& sample(size_t i) const { return samples_[i]; }
  size_t size() const { return files_.size(); }

  MeetFn Meet() const {
    return [](const scan::KeyRange& a, const scan::KeyRange& b) {
      const auto low = [](const scan::KeyRange& r) { return std::get<int32_t>(*r.keys[0].lower); };
      const auto high = [](const scan::KeyRange& r) { return std::get<int32_t>(*r.keys[0].upper); };
      return a.first <= b.last && b.first <= a.last && low(a) <= high(b) && low(b) <= high(a);
    };
  }

  CompactionPlan Plan(const CompactionRules& rules) const {
    return PlanCompaction(files_, rules, Meet());
  }

 private:
  std::deque<scan::ScanFile> scans_;
  std::vector<Sample> samples_;
  std::vector<LiveFile> files_;
  std::map<std::string, std::shared_ptr<const iceberg::DataFile>> deletes_;
};

CompactionRules Rules(bool dedup = true) {
  CompactionRules rules;
  rules.dedup = dedup;
  rules.has_order = true;
  rules.target_bytes = kTarget;
  return rules;
}

// The partition of spec 1 has the rows of all of spec 0.
std::optional<Home> IntoOne(const Home& home) {
  if (home.spec_id != 0) return std::nullopt;
  return Home{1, {iceberg::Value(int32_t{0})}};
}

// The table once a plan was carried out: the outputs of a group share its span, are rolled at the
// target size and carry its highest number. Delete files go when nothing else needs them.
World After(const World& world, const CompactionPlan& plan) {
  std::set<size_t> gone;
  for (const auto& group : plan.groups) gone.insert(group.files.begin(), group.files.end());
  std::set<std::string> needed;
  for (size_t i = 0; i < world.size(); ++i) {
    if (gone.contains(i)) continue;
    needed.insert(world.sample(i).deletes.begin(), world.sample(i).deletes.end());
  }
  World next;
  for (size_t i = 0; i < world.size(); ++i) {
    if (!gone.contains(i)) next.Add(world.sample(i));
  }
  for (const auto& group : plan.groups) {
    Sample merged = world.sample(group.files.front());
    merged.spec = group.home.spec_id;
    merged.partition = std::get<int32_t>(group.home.partition[0]);
    std::set<std::string> deletes;
    for (size_t i : group.files) {
      const Sample& one = world.sample(i);
      merged.first = std::min(merged.first, one.first);
      merged.last = std::max(merged.last, one.last);
      merged.first_series = std::min(merged.first_series, one.first_series);
      merged.last_series = std::max(merged.last_series, one.last_series);
      deletes.insert(one.deletes.begin(), one.deletes.end());
    }
    merged.sorted = true;
    merged.sequence = group.max_sequence;
    merged.deletes.clear();
    for (const std::string& path : deletes) {
      if (needed.contains(path)) merged.deletes.insert(path);
    }
    for (int64_t left = group.bytes; left > 0; left -= kTarget) {
      merged.bytes = std::min(left, kTarget);
      next.Add(merged);
    }
  }
  return next;
}

World RandomWorld(Random* random) {
  const auto below = [&](int n) { return static_cast<int>((*random)() % static_cast<size_t>(n)); };
  World world;
  const int files = 1 + below(24);
  const int days = 1 + below(3);
  for (int i = 0; i < files; ++i) {
    Sample sample;
    sample.spec = below(5) == 0 ? 1 : 0;
    // Spec 0 has partitions of 100 units of time, spec 1 one of all.
    sample.partition = sample.spec == 0 ? below(days) : 0;
    sample.sequence = 1 + below(files);
    sample.bytes = below(6) == 0 ? 750 + below(400) : 1 + below(400);
    const int64_t begin = sample.spec == 0 ? 100 * sample.partition : 0;
    const int span = sample.spec == 0 ? 100 : 100 * days;
    sample.first = begin + below(span);
    sample.last = std::min<int64_t>(begin + span - 1, sample.first + below(40));
    sample.first_series = below(4);
    sample.last_series = sample.first_series + below(3);
    sample.sorted = below(8) != 0;
    sample.unfit = below(12) == 0;
    if (below(6) == 0) sample.deletes.insert("d" + std::to_string(below(3)));
    world.Add(sample);
  }
  return world;
}

void ExpectLawful(const World& world, const CompactionRules& rules, const CompactionPlan& plan) {
  std::set<size_t> seen;
  int64_t bytes = 0;
  for (const auto& group : plan.groups) {
    ASSERT_FALSE(group.files.empty());
    const int partition = std::get<int32_t>(group.home.partition[0]);
    int64_t of_group = 0, highest = 0;
    for (size_t i : group.files) {
      EXPECT_TRUE(seen.insert(i).second) << "a file in two groups";
      EXPECT_FALSE(world.sample(i).unfit);
      if (!rules.without_buckets || group.home.spec_id == 0) {
        EXPECT_EQ(world.sample(i).spec, group.home.spec_id);
        EXPECT_EQ(world.sample(i).partition, partition);
      }
      of_group += world.sample(i).bytes;
      highest = std::max(highest, world.sample(i).sequence);
    }
    EXPECT_EQ(group.bytes, of_group);
    EXPECT_EQ(group.max_sequence, highest);
    EXPECT_TRUE(std::is_sorted(group.files.begin(), group.files.end(), [&](size_t a, size_t b) {
      return world.sample(a).sequence < world.sample(b).sequence;
    }));
    EXPECT_TRUE(MayMerge(world.files(), group.files, rules.dedup, world.Meet()));
    bytes += of_group;
  }
  EXPECT_EQ(plan.bytes, bytes);
  if (rules.max_bytes > 0) {
    EXPECT_LE(bytes, rules.max_bytes);
  }
}

class Plans : public ::testing::TestWithParam<uint64_t> {};

TEST_P(Plans, AreLawfulAndComeToRest) {
  Random random(GetParam());
  World world = RandomWorld(&random);
  CompactionRules rules = Rules(random() % 4 != 0);
  rules.has_order = random() % 5 != 0;
  if (random() % 2 != 0) rules.without_buckets = IntoOne;
  for (int run = 0;; ++run) {
    const CompactionPlan plan = world.Plan(rules);
    ExpectLawful(world, rules, plan);
    if (plan.groups.empty()) break;
    // Merging can only make more possible: whoever blocked is one file with its like now.
    ASSERT_LT(run, 3) << "still " << plan.groups.size() << " groups, the first for "
                      << ReasonText(plan.groups.front().reason);
    world = After(world, plan);
  }
}

TEST_P(Plans, StayBelowTheCapAndGetThere) {
  Random random(GetParam() + 1000);
  World world = RandomWorld(&random);
  CompactionRules rules = Rules();
  rules.max_bytes = 500 + static_cast<int64_t>(random() % 1500);
  if (random() % 2 != 0) rules.without_buckets = IntoOne;
  int64_t left = 0;
  for (int run = 0;; ++run) {
    const CompactionPlan plan = world.Plan(rules);
    ExpectLawful(world, rules, plan);
    left = plan.left_groups;
    if (plan.groups.empty()) break;
    ASSERT_LT(run, 40) << "no rest";
    world = After(world, plan);
  }
  // What is left is more at once than the cap lets pass.
  rules.max_bytes = 0;
  if (left == 0) {
    EXPECT_TRUE(world.Plan(rules).groups.empty());
  }
}

TEST_P(Plans, OfWholePartitionsLeaveNoFitFileOut) {
  Random random(GetParam() + 2000);
  const World world = RandomWorld(&random);
  CompactionRules rules = Rules(/*dedup=*/false);
  rules.full = true;
  const CompactionPlan plan = world.Plan(rules);
  ExpectLawful(world, rules, plan);
  size_t files = 0, fit = 0;
  for (const auto& group : plan.groups) files += group.files.size();
  for (size_t i = 0; i < world.size(); ++i) fit += world.sample(i).unfit ? 0 : 1;
  EXPECT_EQ(files, fit);
}

TEST_P(Plans, AfterAppendsTakeFullTiersAndComeToRest) {
  Random random(GetParam() + 3000);
  World world = RandomWorld(&random);
  CompactionRules rules = Rules(random() % 4 != 0);
  rules.tier_files = 3;
  rules.cold = [](const LiveFile& file) { return file.range.last < 100; };  // the first partition
  for (int run = 0;; ++run) {
    const CompactionPlan plan = world.Plan(rules);
    ExpectLawful(world, rules, plan);
    for (const auto& group : plan.groups) {
      if (group.reason != CompactionReason::kTier) continue;
      EXPECT_GE(group.files.size(), 3u);
      for (size_t i : group.files) EXPECT_LT(world.sample(i).bytes, kTarget / 4 * 3);
    }
    if (plan.groups.empty()) break;
    ASSERT_LT(run, 6);
    world = After(world, plan);
  }
}

// Several runs that share the partitions do what one would do.
TEST_P(Plans, OfShardsAreTheWholePlanInParts) {
  Random random(GetParam() + 4000);
  const World world = RandomWorld(&random);
  CompactionRules rules = Rules(random() % 4 != 0);
  rules.full = random() % 3 == 0;
  if (random() % 2 != 0) rules.without_buckets = IntoOne;
  const CompactionPlan whole = world.Plan(rules);
  std::set<std::vector<size_t>> expected;
  for (const auto& group : whole.groups) expected.insert(group.files);
  const int shards = 1 + static_cast<int>(random() % 4);
  std::set<std::vector<size_t>> found;
  int64_t bytes = 0;
  for (int number = 0; number < shards; ++number) {
    const Shard shard{number, shards};
    rules.mine = [&](const LiveFile& file) {
      const int partition = std::get<int32_t>(file.file->data->partition[0]);
      return shard.Has("uuid", std::to_string(partition));
    };
    const CompactionPlan part = world.Plan(rules);
    ExpectLawful(world, rules, part);
    for (const auto& group : part.groups) EXPECT_TRUE(found.insert(group.files).second);
    bytes += part.bytes;
    rules.max_bytes = 1 + static_cast<int64_t>(random() % 1500);
    ExpectLawful(world, rules, world.Plan(rules));
    rules.max_bytes = 0;
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(bytes, whole.bytes);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Plans, ::testing::Range<uint64_t>(0, 400));

std::vector<std::vector<size_t>> Groups(const CompactionPlan& plan) {
  std::vector<std::vector<size_t>> groups;
  for (const auto& group : plan.groups) groups.push_back(group.files);
  return groups;
}

using Numbers = std::vector<std::vector<size_t>>;

TEST(Plan, MergesSmallFilesOfOnePartition) {
  World world;
  world.Add({.partition = 1, .sequence = 2, .first = 0, .last = 4});
  world.Add({.partition = 1, .sequence = 1, .first = 5, .last = 9});
  world.Add({.partition = 2, .sequence = 3, .first = 100, .last = 109});
  const CompactionPlan plan = world.Plan(Rules());
  EXPECT_EQ(Groups(plan), (Numbers{{1, 0}}));
  EXPECT_EQ(plan.groups[0].reason, CompactionReason::kSmall);
}

TEST(Plan, LeavesLargeFilesOfALargePartitionAlone) {
  World world;
  world.Add({.sequence = 1, .bytes = 1000, .first_series = 0, .last_series = 1});
  world.Add({.sequence = 1, .bytes = 1000, .first_series = 2, .last_series = 3});
  world.Add({.sequence = 2, .bytes = 10, .first = 8, .last = 8});
  world.Add({.sequence = 3, .bytes = 10, .first = 9, .last = 9});
  EXPECT_EQ(Groups(world.Plan(Rules())), (Numbers{{2, 3}}));
  CompactionRules full = Rules();
  full.full = true;
  EXPECT_EQ(Groups(world.Plan(full)), (Numbers{{0, 1, 2, 3}}));
}

TEST(Plan, RewritesAFileThatIsNotInOrder) {
  World world;
  world.Add({.bytes = 900, .sorted = false});
  const CompactionPlan plan = world.Plan(Rules());
  ASSERT_EQ(Groups(plan), (Numbers{{0}}));
  EXPECT_EQ(plan.groups[0].reason, CompactionReason::kUnsorted);
  CompactionRules unordered = Rules(false);
  unordered.has_order = false;  // nothing would be gained
  EXPECT_TRUE(world.Plan(unordered).groups.empty());
}

TEST(Plan, MergesOverlappingFilesOnlyWithDedup) {
  World world;
  world.Add({.sequence = 1, .bytes = 800});
  world.Add({.sequence = 2, .bytes = 800, .first = 9, .last = 20});
  const CompactionPlan plan = world.Plan(Rules());
  ASSERT_EQ(Groups(plan), (Numbers{{0, 1}}));
  EXPECT_EQ(plan.groups[0].reason, CompactionReason::kOverlap);
  EXPECT_TRUE(world.Plan(Rules(false)).groups.empty());
}

// COMMIT, "Order of writes": another partition spec, and both ends count.
TEST(Plan, DoesNotMergeAcrossAFileOfAnotherSpec) {
  for (const int64_t between : {1, 2, 3}) {
    World world;
    world.Add({.sequence = 1, .first = 0, .last = 4});
    world.Add({.sequence = 3, .first = 5, .last = 9});
    world.Add({.spec = 1, .sequence = between, .bytes = 900, .first = 4, .last = 4});
    EXPECT_TRUE(world.Plan(Rules()).groups.empty()) << between;
    EXPECT_FALSE(MayMerge(world.files(), {0, 1}, true, world.Meet())) << between;
    EXPECT_EQ(Groups(world.Plan(Rules(false))), (Numbers{{0, 1}}));
  }
  World apart;
  apart.Add({.sequence = 1, .first = 0, .last = 4});
  apart.Add({.sequence = 3, .first = 5, .last = 9});
  apart.Add({.spec = 1, .sequence = 2, .bytes = 900, .first = 10, .last = 12});
  EXPECT_EQ(Groups(apart.Plan(Rules())), (Numbers{{0, 1}}));
}

// Rows of one chunk with and without buckets: else replaced ones stay for readers that know no key.
TEST(Plan, MergesBucketsWithFilesThatWereWrittenWithoutThem) {
  World world;
  world.Add({.spec = 1, .sequence = 1, .bytes = 800, .first = 0, .last = 9});
  world.Add({.partition = 4, .sequence = 2, .bytes = 800, .first = 9, .last = 9});
  world.Add({.partition = 5, .sequence = 3, .bytes = 800, .first = 10, .last = 19});
  CompactionRules rules = Rules();
  EXPECT_TRUE(world.Plan(rules).groups.empty());
  rules.without_buckets = IntoOne;
  const CompactionPlan plan = world.Plan(rules);
  ASSERT_EQ(Groups(plan), (Numbers{{0, 1}}));
  EXPECT_EQ(plan.groups[0].reason, CompactionReason::kOverlap);
  EXPECT_EQ(plan.groups[0].home.spec_id, 1);
  EXPECT_TRUE(After(world, plan).Plan(rules).groups.empty());
  rules.dedup = false;  // nothing is replaced
  EXPECT_TRUE(world.Plan(rules).groups.empty());
  rules.dedup = true;  // too much to write again
  rules.target_bytes = 800;
  EXPECT_TRUE(world.Plan(rules).groups.empty());
}

TEST(Plan, CutsAtAFileInTheWay) {
  World world;
  for (int64_t sequence : {1, 2, 4, 5}) world.Add({.sequence = sequence});
  world.Add({.spec = 1, .sequence = 3, .bytes = 900});
  EXPECT_EQ(Groups(world.Plan(Rules())), (Numbers{{0, 1}, {2, 3}}));
}

TEST(Plan, KeepsTheFilesOfOneWriteTogether) {
  World world;
  world.Add({.sequence = 1});
  world.Add({.sequence = 2});
  world.Add({.sequence = 2});
  world.Add({.sequence = 3});
  CompactionRules rules = Rules();
  rules.max_bytes = 250;  // two and a half files
  const CompactionPlan plan = world.Plan(rules);
  EXPECT_TRUE(plan.groups.empty());
  EXPECT_EQ(plan.left_groups, 1);
  EXPECT_EQ(plan.left_bytes, 400);
  rules.max_bytes = 300;
  EXPECT_EQ(Groups(world.Plan(rules)), (Numbers{{0, 1, 2}}));
}

TEST(Plan, DoesNotMergeAgainWhatOneMergeLeft) {
  World world;
  world.Add({.sequence = 4, .bytes = 700});
  world.Add({.sequence = 4, .bytes = 600});
  EXPECT_TRUE(world.Plan(Rules()).groups.empty());
  World tiny;  // but what another engine wrote in pieces
  for (int i = 0; i < 5; ++i) tiny.Add({.sequence = 4, .bytes = 20});
  EXPECT_EQ(world.Plan(Rules(false)).groups.size(), 0u);
  EXPECT_EQ(tiny.Plan(Rules()).groups.size(), 1u);
}

TEST(Plan, AfterAppendsMergesATierOfManyFilesOnly) {
  World world;
  for (int64_t sequence = 1; sequence <= 3; ++sequence) world.Add({.sequence = sequence});
  CompactionRules rules = Rules();
  rules.tier_files = 4;
  rules.cold = [](const LiveFile&) { return false; };
  EXPECT_TRUE(world.Plan(rules).groups.empty());
  world.Add({.sequence = 4, .sorted = false});
  const CompactionPlan plan = world.Plan(rules);
  EXPECT_EQ(Groups(plan), (Numbers{{0, 1, 2, 3}}));
  EXPECT_EQ(plan.groups[0].reason, CompactionReason::kTier);
  // A cold partition is merged by the rules for all.
  rules.cold = [](const LiveFile&) { return true; };
  rules.tier_files = 40;
  EXPECT_EQ(world.Plan(rules).groups.at(0).reason, CompactionReason::kUnsorted);
}

TEST(Plan, TiersAreFourTimesAsLargeAsTheOneBefore) {
  constexpr int64_t kKibi = 1024;
  CompactionRules rules = Rules();
  rules.target_bytes = 1 << 30;
  rules.tier_files = 2;
  rules.cold = [](const LiveFile&) { return false; };
  const auto merged = [&](int64_t a, int64_t b) {
    World world;
    world.Add({.sequence = 1, .bytes = a});
    world.Add({.sequence = 2, .bytes = b});
    std::vector<LiveFile> files = world.files();
    for (LiveFile& file : files) file.small = true;
    return !PlanCompaction(files, rules, world.Meet()).groups.empty();
  };
  EXPECT_TRUE(merged(1, 64 * kKibi - 1));
  EXPECT_FALSE(merged(64 * kKibi - 1, 64 * kKibi));
  EXPECT_TRUE(merged(64 * kKibi, 256 * kKibi - 1));
  EXPECT_FALSE(merged(256 * kKibi - 1, 256 * kKibi));
  EXPECT_TRUE(merged(256 * kKibi, 1024 * kKibi - 1));
  EXPECT_FALSE(merged(1024 * kKibi - 1, 1024 * kKibi));
}

// What repeats itself is small, but merging goes by rows.
TEST(Plan, ARowWeighsEightBytesAtLeast) {
  CompactionRules rules = Rules();
  rules.target_bytes = 1 << 30;
  rules.tier_files = 2;
  rules.cold = [](const LiveFile&) { return false; };
  const auto merged = [&](int64_t rows) {
    World world;
    world.Add({.sequence = 1, .bytes = 5000, .rows = rows});
    world.Add({.sequence = 2, .bytes = 5000, .rows = 10});
    std::vector<LiveFile> files = world.files();
    for (LiveFile& file : files) file.small = true;
    return !PlanCompaction(files, rules, world.Meet()).groups.empty();
  };
  EXPECT_TRUE(merged((64 << 10) / 8 - 1));
  EXPECT_FALSE(merged((64 << 10) / 8));
}

TEST(Plan, AfterAppendsAColdPartitionWaitsForMoreLateRows) {
  World world;
  world.Add({.sequence = 1, .bytes = 700});  // as a merge left it
  world.Add({.sequence = 2, .bytes = 40});
  CompactionRules rules = Rules();
  rules.tier_files = 3;
  rules.cold = [](const LiveFile&) { return true; };
  EXPECT_TRUE(world.Plan(rules).groups.empty());
  world.Add({.sequence = 3, .bytes = 40});
  EXPECT_EQ(Groups(world.Plan(rules)), (Numbers{{0, 1, 2}}));  // a tier: all are below 64 KiB
  rules.tier_files = 4;
  EXPECT_TRUE(world.Plan(rules).groups.empty());
  world.Add({.sequence = 4, .bytes = 20});
  world.Add({.sequence = 5, .bytes = 20});
  EXPECT_EQ(world.Plan(rules).groups.at(0).reason, CompactionReason::kSmall);
  // `maintain` does not wait.
  World two;
  two.Add({.sequence = 1, .bytes = 700});
  two.Add({.sequence = 2, .bytes = 1});
  EXPECT_EQ(Groups(two.Plan(Rules())), (Numbers{{0, 1}}));
  // Nor does anything for a file out of order.
  two.Add({.sequence = 3, .bytes = 1, .sorted = false});
  EXPECT_EQ(two.Plan(rules).groups.at(0).reason, CompactionReason::kUnsorted);
}

TEST(Plan, RewritesForDeleteFilesThatCanGoThen) {
  World world;
  world.Add({.sequence = 1, .bytes = 900, .deletes = {"d"}});
  EXPECT_EQ(world.Plan(Rules()).groups.at(0).reason, CompactionReason::kDeletes);
  // The same delete file is needed by a file that cannot be rewritten.
  world.Add({.spec = 1,
             .sequence = 2,
             .bytes = 900,
             .first = 50,
             .last = 60,
             .unfit = true,
             .deletes = {"d"}});
  const CompactionPlan plan = world.Plan(Rules());
  EXPECT_TRUE(plan.groups.empty());
  EXPECT_EQ(plan.left_groups, 0);
}

TEST(Plan, LeavesFilesOfOneDeleteFileForARunThatTakesThemAll) {
  World world;
  for (int partition : {0, 1}) {
    world.Add({.partition = partition,
               .bytes = 900,
               .first = 100 * partition,
               .last = 100 * partition + 9,
               .deletes = {"d"}});
  }
  CompactionRules rules = Rules();
  rules.max_bytes = 1000;
  const CompactionPlan plan = world.Plan(rules);
  EXPECT_TRUE(plan.groups.empty());
  EXPECT_EQ(plan.left_groups, 2);
  EXPECT_EQ(plan.left_bytes, 1800);
  EXPECT_EQ(world.Plan(Rules()).groups.size(), 2u);
}

}  // namespace
}  // namespace timelake::maintain

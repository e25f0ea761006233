#include "table/merge_manifests.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"

namespace timelake::table {
namespace {

constexpr int64_t kTarget = 8 << 20;
constexpr int64_t kEntryBytes = 230;
constexpr int64_t kHeaderBytes = 3000;

iceberg::ManifestFile Row(int64_t files, int spec_id = 0,
                          iceberg::ManifestContent content = iceberg::ManifestContent::kData) {
  iceberg::ManifestFile row;
  row.existing_files_count = files;
  row.manifest_length = kHeaderBytes + files * kEntryBytes;
  row.partition_spec_id = spec_id;
  row.content = content;
  return row;
}

ManifestRows RowsOf(const std::vector<int64_t>& files) {
  ManifestRows rows;
  for (const int64_t count : files) rows.push_back(Row(count));
  return rows;
}

using Merges = std::vector<std::vector<size_t>>;

TEST(MergeManifests, EightAreLeftAlone) {
  EXPECT_EQ(PlanManifestMerges({}, kTarget), Merges{});
  EXPECT_EQ(PlanManifestMerges(RowsOf({1, 1, 1, 1, 1, 1, 1}), kTarget), Merges{});
  EXPECT_EQ(PlanManifestMerges(RowsOf({1, 1, 1, 1, 1, 1, 1, 1}), kTarget),
            (Merges{{0, 1, 2, 3, 4, 5, 6, 7}}));
}

TEST(MergeManifests, AMuchLargerOneIsNotWrittenAgain) {
  EXPECT_EQ(PlanManifestMerges(RowsOf({20'000, 1, 1, 1, 1, 1, 1, 1}), kTarget),
            (Merges{{1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(PlanManifestMerges(RowsOf({20'000, 50, 1, 1, 1, 1, 1, 1}), kTarget),
            (Merges{{2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(PlanManifestMerges(RowsOf({20'000, 30, 1, 1, 1, 1, 1, 1}), kTarget),
            (Merges{{1, 2, 3, 4, 5, 6, 7}}));
}

// Each many times as large as the next: two are merged all the same.
TEST(MergeManifests, NoMoreThanEightStay) {
  std::vector<int64_t> files;
  for (int64_t count = 1; files.size() < 8; count *= 10) files.insert(files.begin(), count);
  EXPECT_EQ(PlanManifestMerges(RowsOf(files), int64_t{1} << 40), (Merges{{6, 7}}));
  files.push_back(1);
  EXPECT_EQ(PlanManifestMerges(RowsOf(files), int64_t{1} << 40), (Merges{{6, 7, 8}}));
}

TEST(MergeManifests, NotAcrossSpecsOrContents) {
  ManifestRows rows;
  for (int i = 0; i < 7; ++i) {
    rows.push_back(Row(1, 0));
    rows.push_back(Row(1, 1));
    rows.push_back(Row(1, 0, iceberg::ManifestContent::kDeletes));
  }
  EXPECT_EQ(PlanManifestMerges(rows, kTarget), Merges{});
  rows.push_back(Row(1, 1));
  rows.push_back(Row(100'000, 0));  // not small
  EXPECT_EQ(PlanManifestMerges(rows, kTarget), (Merges{{1, 4, 7, 10, 13, 16, 19, 21}}));
}

// A table of another writer, which has never merged any.
TEST(MergeManifests, ManyAreMergedToTheTargetSize) {
  const ManifestRows rows = RowsOf(std::vector<int64_t>(1000, 20'000));  // 4.4 MiB each
  const Merges merges = PlanManifestMerges(rows, kTarget);
  EXPECT_GT(merges.size(), 400u);
  std::set<size_t> seen;
  for (const auto& merge : merges) {
    EXPECT_EQ(merge.size(), 2u);
    for (const size_t i : merge) EXPECT_TRUE(seen.insert(i).second);
  }
  EXPECT_GE(seen.size(), 994u - 1);
}

// What an append writes of entries that are not its own: little, and no more in a large table.
TEST(MergeManifests, EachEntryIsWrittenAFewTimes) {
  const auto random = SeededRandom(1);
  for (const int64_t most_files : {1, 5}) {
    ManifestRows rows;
    int64_t written = 0, merges = 0, entries = 0;
    std::vector<int64_t> each;
    const int appends = 100'000;
    for (int i = 0; i < appends; ++i) {
      int64_t now = 0;
      const Merges plan = PlanManifestMerges(rows, kTarget);
      for (auto merge = plan.rbegin(); merge != plan.rend(); ++merge) {
        ++merges;
        int64_t files = 0;
        for (const size_t j : *merge) files += rows[j].existing_files_count;
        now += files;
        // Neighbours, so that the order of commits stays.
        ASSERT_EQ(merge->back() - merge->front() + 1, merge->size());
        const auto first = rows.begin() + static_cast<ptrdiff_t>(merge->front());
        rows.erase(first + 1, first + static_cast<ptrdiff_t>(merge->size()));
        *first = Row(files);
      }
      const int64_t files = 1 + static_cast<int64_t>(random->Below(most_files));
      entries += files;
      rows.push_back(Row(files));
      written += now;
      each.push_back(now);
      const auto small = std::count_if(
          rows.begin(), rows.end(), [](const auto& row) { return row.manifest_length < kTarget; });
      ASSERT_LE(small, 8);
    }
    std::sort(each.begin(), each.end());
    EXPECT_LT(written / entries, 25) << most_files;
    EXPECT_LT(merges, appends / 4);
    EXPECT_LT(each[appends * 99 / 100], 250 * most_files);
    int64_t kept = 0;
    for (const auto& row : rows) kept += row.existing_files_count;
    EXPECT_EQ(kept, entries);
    EXPECT_LE(static_cast<int64_t>(rows.size()), 8 + entries * kEntryBytes / kTarget);
  }
}

}  // namespace
}  // namespace timelake::table

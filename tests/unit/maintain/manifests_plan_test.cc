#include "maintain/manifests_plan.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace timelake::maintain {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Spans = std::vector<ManifestSpan>;

TEST(ManifestsPlan, ClusteredOnesStay) {
  Spans spans;
  for (int64_t i = 0; i < 50; ++i) spans.push_back({10 * i, 10 * i + 10, 120});
  EXPECT_THAT(ManifestsToCluster(spans, 100), IsEmpty());
}

TEST(ManifestsPlan, OnesThatOverlapAreClustered) {
  Spans spans = {{0, 90, 100}, {5, 95, 100}, {100, 200, 100}, {0, 99, 100}, {20, 80, 101}};
  EXPECT_THAT(ManifestsToCluster(spans, 100), ElementsAre(0, 1, 3, 4));
  // Three times the target size is borne.
  spans.pop_back();
  EXPECT_THAT(ManifestsToCluster(spans, 100), IsEmpty());
}

TEST(ManifestsPlan, ManifestsOfOnePartitionAreAsGoodAsTheyGet) {
  Spans spans;
  for (int i = 0; i < 20; ++i) spans.push_back({7, 7, 100});
  spans.push_back({0, 9, 100});
  EXPECT_THAT(ManifestsToCluster(spans, 100), IsEmpty());
}

TEST(ManifestsPlan, ALittleOfALotIsBorne) {
  Spans spans;
  for (int64_t i = 0; i < 100; ++i) spans.push_back({10 * i, 10 * i + 9, 100});
  for (int64_t i = 0; i < 8; ++i) spans.push_back({0, 1000, 100});  // late data
  EXPECT_THAT(ManifestsToCluster(spans, 100), IsEmpty());
  for (int64_t i = 0; i < 30; ++i) spans.push_back({0, 1000, 100});
  EXPECT_EQ(ManifestsToCluster(spans, 100).size(), spans.size());
}

// Entries cut in order into manifests of a fifth above the target: nothing is left to be done.
TEST(ManifestsPlan, IsIdempotent) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    Spans spans;
    std::vector<int64_t> files;  // partitions, ten bytes of manifest each
    const int64_t days = 1 + static_cast<int64_t>(random() % 60);
    for (int manifest = 0; manifest < 40; ++manifest) {
      ManifestSpan span{days, 0, 0};
      for (uint64_t i = 1 + random() % 12; i > 0; --i) {
        files.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(days)));
        span.first = std::min(span.first, files.back());
        span.last = std::max(span.last, files.back());
        span.bytes += 10;
      }
      spans.push_back(span);
    }
    if (ManifestsToCluster(spans, 100).empty()) continue;
    std::sort(files.begin(), files.end());
    Spans after;
    for (size_t i = 0; i < files.size(); i += 12) {
      const size_t end = std::min(files.size(), i + 12);
      after.push_back({files[i], files[end - 1], static_cast<int64_t>(10 * (end - i))});
    }
    EXPECT_THAT(ManifestsToCluster(after, 100), IsEmpty()) << seed;
  }
}

TEST(ManifestsPlan, NothingOfNothing) {
  EXPECT_THAT(ManifestsToCluster({}, 100), IsEmpty());
  EXPECT_THAT(ManifestsToCluster({{0, 9, INT64_MAX / 4}}, INT64_MAX), IsEmpty());
}

}  // namespace
}  // namespace timelake::maintain

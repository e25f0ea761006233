#include "maintain/health.h"

#include <deque>

#include <gtest/gtest.h>

namespace timelake::maintain {
namespace {

TEST(Health, CountsWhatCompactionLooksFor) {
  std::deque<scan::ScanFile> scans;
  std::vector<LiveFile> files;
  const auto add = [&](int64_t first, int64_t last, int64_t sequence, bool small, bool sorted) {
    scans.emplace_back().sequence_number = sequence;
    LiveFile& file = files.emplace_back();
    file.file = &scans.back();
    file.range.first = first;
    file.range.last = last;
    file.small = small;
    file.sorted = sorted;
  };
  const MeetFn meet = [](const scan::KeyRange& a, const scan::KeyRange& b) {
    return a.first <= b.last && b.first <= a.last;
  };
  EXPECT_EQ(HealthOf(files, meet).small, 0);
  add(0, 10, 1, true, true);
  add(5, 15, 1, true, true);  // of the same write
  add(20, 30, 2, false, false);
  add(30, 40, 3, false, true);
  add(41, 50, 4, true, true);
  const FileHealth health = HealthOf(files, meet);
  EXPECT_EQ(health.small, 3);
  EXPECT_EQ(health.unsorted, 1);
  EXPECT_EQ(health.overlapping, 2);
}

}  // namespace
}  // namespace timelake::maintain

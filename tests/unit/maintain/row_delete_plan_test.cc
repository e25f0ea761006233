#include "maintain/row_delete_plan.h"

#include <deque>

#include <gtest/gtest.h>

namespace timelake::maintain {
namespace {

class RowDeletePlan : public ::testing::Test {
 protected:
  void Add(int64_t first, int64_t last, int64_t sequence, bool replaced = false) {
    scan::ScanFile& file = scans_.emplace_back();
    file.sequence_number = sequence;
    LiveFile& live = files_.emplace_back();
    live.file = &file;
    live.range.first = first;
    live.range.last = last;
    if (replaced) replaced_[files_.size() - 1] = {0};
  }

  std::set<size_t> Chosen(const std::set<size_t>& touched, bool by_ingest = false) const {
    return FilesToRewrite(files_, touched, replaced_, {.by_ingest = by_ingest}, meet_);
  }

  const MeetFn meet_ = [](const scan::KeyRange& a, const scan::KeyRange& b) {
    return a.first <= b.last && b.first <= a.last;
  };
  std::deque<scan::ScanFile> scans_;
  std::vector<LiveFile> files_;
  ReplacedRows replaced_;
};

using Places = std::set<size_t>;

TEST_F(RowDeletePlan, OlderFilesWithReplacedRowsComeAlong) {
  Add(0, 10, 5);         // 0: rows of it go
  Add(5, 20, 3, true);   // 1: older
  Add(5, 20, 4);         // 2: none of its rows is replaced
  Add(11, 20, 2, true);  // 3: shares no time
  Add(0, 10, 6, true);   // 4: younger, what replaced its rows is younger still
  EXPECT_EQ(Chosen({0}), (Places{0, 1}));
}

TEST_F(RowDeletePlan, ByIngestTimeAnyFileMayBeOlder) {
  Add(0, 10, 5);
  Add(0, 10, 6, true);
  EXPECT_EQ(Chosen({0}), (Places{0}));
  EXPECT_EQ(Chosen({0}, /*by_ingest=*/true), (Places{0, 1}));
}

TEST_F(RowDeletePlan, FilesOfOneWriteKeepTheirOrder) {
  Add(0, 10, 5);
  Add(5, 30, 4, true);   // 1: comes along
  Add(20, 40, 4, true);  // 2: of the same write as 1
  Add(35, 50, 4, true);  // 3: as 2
  Add(20, 40, 3, true);  // 4: of another write
  Add(60, 70, 5, true);  // 5: of 0's write, but apart
  EXPECT_EQ(Chosen({0}), (Places{0, 1, 2, 3}));
}

TEST_F(RowDeletePlan, IsIdempotent) {
  for (int64_t i = 0; i < 40; ++i) Add(i * 7 % 31, i * 7 % 31 + 5, i % 9, i % 3 == 0);
  for (size_t one = 0; one < files_.size(); ++one) {
    const Places once = Chosen({one});
    EXPECT_TRUE(once.contains(one));
    for (size_t i : once) EXPECT_TRUE(i == one || replaced_.contains(i));
    EXPECT_EQ(Chosen({one}), once);
  }
}

TEST_F(RowDeletePlan, FilesThatShareATimeAreWatched) {
  Add(0, 10, 5);
  Add(10, 20, 4);
  Add(11, 20, 4);
  Add(-5, 100, 9);
  EXPECT_EQ(FilesToWatch(files_, {0}, meet_), (std::vector<size_t>{1, 3}));
  EXPECT_EQ(FilesToWatch(files_, {0, 1}, meet_), (std::vector<size_t>{2, 3}));
  EXPECT_TRUE(FilesToWatch(files_, {}, meet_).empty());
}

TEST_F(RowDeletePlan, NothingForNothing) {
  Add(0, 10, 5, true);
  EXPECT_EQ(Chosen({}), Places{});
}

}  // namespace
}  // namespace timelake::maintain

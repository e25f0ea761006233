#include "sql/functions/zone_clock.h"

#include <algorithm>
#include <limits>

#include "base/civil_time.h"

namespace timelake::sql {

namespace {

constexpr int64_t kDaysPerBlock = 64;
constexpr int64_t kBlock = kDaysPerBlock * kMicrosPerDay;
constexpr int64_t kFarthest = 9'050'000'000'000'000'000;
constexpr size_t kMaxBlocks = 8192;  // some 1,400 years

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

int64_t DayStart(int64_t day) {
  int64_t start = 0;
  if (__builtin_mul_overflow(day, kMicrosPerDay, &start)) return day < 0 ? kMin : kMax;
  return start;
}

}  // namespace

int64_t ZoneClock::OffsetAt(int64_t instant) {
  int64_t offset = 0;
  offsets_at_({std::clamp(instant, -kFarthest, kFarthest)}, &offset);
  return offset;
}

ZoneClock::Block ZoneClock::Load(int64_t block) {
  std::vector<int64_t> starts, asked;
  for (int64_t i = 0; i <= kDaysPerBlock; ++i) {
    starts.push_back(DayStart(block * kDaysPerBlock + i));
    asked.push_back(std::clamp(starts.back(), -kFarthest, kFarthest));
  }
  std::vector<int64_t> offsets(asked.size());
  offsets_at_(asked, offsets.data());
  Block segments = {{starts[0], starts[0], offsets[0]}};
  for (size_t i = 1; i < starts.size(); ++i) {
    if (offsets[i] != offsets[i - 1]) {
      // The first instant with the new offset; the offset changes once within the day.
      int64_t before = starts[i - 1], after = starts[i];
      while (after - before > 1) {
        const int64_t middle = before + (after - before) / 2;
        (OffsetAt(middle) == offsets[i - 1] ? before : after) = middle;
      }
      segments.back().end = after;
      segments.push_back({after, after, offsets[i]});
    }
    segments.back().end = starts[i];
  }
  // A change right at the end belongs to the next block.
  if (segments.back().begin == segments.back().end && segments.size() > 1) segments.pop_back();
  return segments;
}

const ZoneSegment& ZoneClock::At(int64_t instant) {
  if (!last_ || instant < last_->front().begin || instant >= last_->back().end) {
    const int64_t block = FloorDiv(instant, kBlock);
    auto found = blocks_.find(block);
    if (found == blocks_.end()) {
      if (blocks_.size() >= kMaxBlocks) blocks_.clear();
      found = blocks_.emplace(block, Load(block)).first;
    }
    last_ = &found->second;
  }
  for (const ZoneSegment& segment : *last_) {
    if (instant < segment.end) return segment;
  }
  return last_->back();
}

}  // namespace timelake::sql

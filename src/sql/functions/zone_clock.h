#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace timelake::sql {

// A stretch of instants, [begin, end), over which a zone's clock is `offset` microseconds ahead of
// UTC. Not necessarily the longest such stretch.
struct ZoneSegment {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t offset = 0;
};

// The clock of one time zone, from a function that knows its offset at an instant (ICU's costs a
// microsecond and more). Offsets are asked for once a day and remembered, and the instant at which
// they change is searched for; two changes within one day of UTC that undo each other would be
// missed, but no zone has them. Beyond year +-287,000 the offset is the one at that end.
// Not thread-safe.
class ZoneClock {
 public:
  // Fills offsets[i] for instants[i].
  using OffsetsAt = std::function<void(const std::vector<int64_t>& instants, int64_t* offsets)>;

  explicit ZoneClock(OffsetsAt offsets_at) : offsets_at_(std::move(offsets_at)) {}

  // The segment around an instant.
  const ZoneSegment& At(int64_t instant);

 private:
  using Block = std::vector<ZoneSegment>;  // of 64 days, in order

  Block Load(int64_t block);
  int64_t OffsetAt(int64_t instant);

  OffsetsAt offsets_at_;
  std::unordered_map<int64_t, Block> blocks_;
  const Block* last_ = nullptr;
};

}  // namespace timelake::sql

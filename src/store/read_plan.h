#pragma once

#include <cstdint>
#include <vector>

namespace timelake::store {

struct ByteRange {
  int64_t offset = 0;
  int64_t length = 0;

  int64_t end() const { return offset + length; }
  bool operator==(const ByteRange&) const = default;
};

// Which requests get the `wanted` ranges (any order, may overlap, empty ones count for nothing) of
// one object: ascending and apart from each other. Ranges with at most `gap` bytes between them
// come with one request, which is cheaper than a second one; what is longer than `most` is asked
// for in even pieces of at most that, side by side. Pure.
std::vector<ByteRange> PlanRequests(std::vector<ByteRange> wanted, int64_t gap, int64_t most);

// How much of an object's end most likely holds the footer and the page index of a Parquet file of
// `size` bytes, or all of it where that is not more than a round trip's worth of bytes.
int64_t TailOf(int64_t size);

}  // namespace timelake::store

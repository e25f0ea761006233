#include "store/read_plan.h"

#include <algorithm>

namespace timelake::store {
namespace {

// A connection moves about this much in the time of one round trip, so that it is not worth two.
constexpr int64_t kWhole = int64_t{1} << 20;
// Page index and footer of files of ours take between a 500th (narrow) and a 150th (many columns of
// few bytes) of the file.
constexpr int64_t kTailShare = 128;
constexpr int64_t kLeastTail = int64_t{64} << 10;
constexpr int64_t kMostTail = int64_t{4} << 20;

}  // namespace

std::vector<ByteRange> PlanRequests(std::vector<ByteRange> wanted, int64_t gap, int64_t most) {
  std::erase_if(wanted, [](const ByteRange& range) { return range.length <= 0; });
  std::sort(wanted.begin(), wanted.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  std::vector<ByteRange> merged;
  for (const ByteRange& range : wanted) {
    if (!merged.empty() && range.offset <= merged.back().end() + gap) {
      ByteRange& last = merged.back();
      last.length = std::max(last.end(), range.end()) - last.offset;
    } else {
      merged.push_back(range);
    }
  }
  std::vector<ByteRange> requests;
  for (const ByteRange& range : merged) {
    const int64_t pieces = (range.length + most - 1) / most;
    const int64_t piece = (range.length + pieces - 1) / pieces;
    for (int64_t at = range.offset; at < range.end(); at += piece) {
      requests.push_back({at, std::min(piece, range.end() - at)});
    }
  }
  return requests;
}

int64_t TailOf(int64_t size) {
  if (size <= kWhole) return size;
  return std::clamp(size / kTailShare, kLeastTail, kMostTail);
}

}  // namespace timelake::store

#include "maintain/manifests_plan.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace timelake::maintain {
namespace {

// Manifests that overlap, one with another.
struct Heap {
  std::vector<size_t> members;
  int64_t worst = 0;  // most bytes of them that meet in one partition
};

std::vector<Heap> Heaps(const std::vector<ManifestSpan>& manifests) {
  std::vector<size_t> by_first;
  for (size_t i = 0; i < manifests.size(); ++i) {
    if (manifests[i].first < manifests[i].last) by_first.push_back(i);
  }
  std::sort(by_first.begin(), by_first.end(),
            [&](size_t a, size_t b) { return manifests[a].first < manifests[b].first; });
  using End = std::pair<int64_t, int64_t>;  // of a manifest that is open: last ordinal, bytes
  std::priority_queue<End, std::vector<End>, std::greater<>> open;
  std::vector<Heap> heaps;
  int64_t bytes = 0;
  for (const size_t i : by_first) {
    while (!open.empty() && open.top().first < manifests[i].first) {
      bytes -= open.top().second;
      open.pop();
    }
    if (open.empty()) heaps.emplace_back();
    open.emplace(manifests[i].last, manifests[i].bytes);
    bytes += manifests[i].bytes;
    heaps.back().members.push_back(i);
    heaps.back().worst = std::max(heaps.back().worst, bytes);
  }
  return heaps;
}

}  // namespace

std::vector<size_t> ManifestsToCluster(const std::vector<ManifestSpan>& manifests,
                                       int64_t target_bytes) {
  int64_t all = 0;
  for (const ManifestSpan& manifest : manifests) all += manifest.bytes;
  const int64_t bearable = target_bytes > std::numeric_limits<int64_t>::max() / 3
                               ? std::numeric_limits<int64_t>::max()
                               : std::max(3 * target_bytes, all / 4);
  std::vector<size_t> chosen;
  for (const Heap& heap : Heaps(manifests)) {
    if (heap.worst <= bearable) continue;
    chosen.insert(chosen.end(), heap.members.begin(), heap.members.end());
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace timelake::maintain

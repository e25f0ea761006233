#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "maintain/live_file.h"

namespace timelake::maintain {

// Files by time, to find those that share a time with one.
class ByTime {
 public:
  ByTime(const std::vector<LiveFile>& files, std::vector<size_t> places)
      : files_(files), places_(std::move(places)) {
    std::sort(places_.begin(), places_.end(),
              [&](size_t a, size_t b) { return files[a].range.first < files[b].range.first; });
    int64_t last = std::numeric_limits<int64_t>::min();
    for (size_t i : places_) reach_.push_back(last = std::max(last, files[i].range.last));
  }

  // Whether `test` holds for one that shares a time with the file.
  template <typename Test>
  bool Any(size_t of, Test&& test) const {
    const scan::KeyRange& range = files_[of].range;
    const auto end =
        std::upper_bound(places_.begin(), places_.end(), range.last,
                         [&](int64_t last, size_t i) { return last < files_[i].range.first; });
    for (auto at = static_cast<size_t>(end - places_.begin()); at-- > 0;) {
      if (reach_[at] < range.first) break;  // nor any that begins earlier
      if (files_[places_[at]].range.last >= range.first && test(places_[at])) return true;
    }
    return false;
  }

 private:
  const std::vector<LiveFile>& files_;
  std::vector<size_t> places_;
  std::vector<int64_t> reach_;  // latest time of the files up to that place
};

}  // namespace timelake::maintain

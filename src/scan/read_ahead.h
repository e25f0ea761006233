#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "scan/file_work.h"

namespace timelake::scan {

// Has the bytes of the next morsels fetched while the ones before are decoded, where the store is
// remote: some megabytes of several morsels with one call, so that pages which lie together come
// with one request. A query that takes few rows has little fetched in vain: what is fetched ahead
// grows as morsels are taken. Belongs to who owns the queue.
class ReadAhead {
 public:
  // Called when the queue has got morsels at its end, and after `Took`.
  void Fill(std::deque<Morsel>* queue);

  // The front has left the queue.
  void Took(const Morsel& morsel);

 private:
  static constexpr int64_t kFirst = int64_t{16} << 20;
  static constexpr int64_t kMost = int64_t{64} << 20;

  int64_t window_ = kFirst;
  int64_t ahead_ = 0;   // bytes of the morsels fetched and not taken
  size_t fetched_ = 0;  // so many at the front of the queue
};

}  // namespace timelake::scan

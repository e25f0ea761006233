#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"

namespace timelake {

// Runs step(0) .. step(count - 1), on up to `threads` threads of which the caller's is one, and
// returns the first error. For waiting on the store, not for computing: threads of our own
// cannot be starved by a pool that the store itself uses. Threads are started only once a step has
// taken longer than starting them does, as most often everything is cached; or at once, where it is
// known that a step `waits`.
template <typename Step>
Status RunConcurrently(size_t count, size_t threads, bool waits, Step&& step) {
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  Status first;
  auto work = [&] {
    for (size_t i = next++; i < count && !failed; i = next++) {
      Status status = step(i);
      if (status.ok()) continue;
      std::lock_guard lock(mutex);
      if (!failed.exchange(true)) first = std::move(status);
    }
  };
  bool slow = waits;
  while (threads > 1 && !slow && next < count) {
    const auto start = std::chrono::steady_clock::now();
    TL_RETURN_NOT_OK(step(next++));
    slow = std::chrono::steady_clock::now() - start > std::chrono::microseconds(300);
  }
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min(count - std::min<size_t>(next, count), threads); ++i) {
    try {
      helpers.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // no more threads to be had: the others do it
    }
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  return first;
}

}  // namespace timelake

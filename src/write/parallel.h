#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"

namespace arrow::internal {
class ThreadPool;
}

namespace timelake::write {

// Threads of the machine.
int MachineThreads();

// The pool of all appends of the process, of as many threads as the machine has. Only for work that
// waits for nothing. Arrow's pools survive a fork.
arrow::internal::ThreadPool* SharedPool();

// ParallelFor for work that waits for nothing: helpers come from the shared pool.
Status ParallelColumns(int count, int threads, const std::function<Status(int)>& task);

// Runs `task(0) .. task(count - 1)`, each returning a Status, on up to `threads` threads, the
// caller's among them. After an error no further task is started; the first error is returned.
// Own threads instead of Arrow's pool: a task may wait for that pool without a deadlock.
template <typename Task>
Status ParallelFor(int count, int threads, Task&& task) {
  std::atomic<int> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  Status first;
  const auto work = [&] {
    for (int i = next++; i < count && !failed; i = next++) {
      Status status = task(i);
      if (status.ok()) continue;
      std::lock_guard lock(mutex);
      if (!failed.exchange(true)) first = std::move(status);
    }
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < std::min(count, threads); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  return first;
}

}  // namespace timelake::write

#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <arrow/util/thread_pool.h>

#include "base/helpers.h"
#include "base/memory.h"

namespace timelake {
namespace {

constexpr int kWaitingThreads = 32;
constexpr std::chrono::microseconds kLongStep{300};

// What the caller and its helpers share; a helper that starts late finds it, and nothing to do.
struct Shared {
  std::mutex mutex;
  std::condition_variable idle;
  int working = 0;
  int next = 0;
  int count = 0;
  Status first;
  const std::function<Status(int)>* task = nullptr;  // null once the caller has left

  void Work() {
    std::unique_lock lock(mutex);
    if (task == nullptr) return;
    ++working;
    while (next < count && first.ok()) {
      const int i = next++;
      const auto& run = *task;
      lock.unlock();
      Status status = run(i);
      lock.lock();
      if (!status.ok() && first.ok()) first = std::move(status);
    }
    const bool last = --working == 0;
    lock.unlock();
    if (last) idle.notify_all();
  }
};

Status Run(std::atomic<Helpers*>* helpers, int most, int count, int threads,
           const std::function<Status(int)>& task) {
  auto shared = std::make_shared<Shared>();
  shared->count = count;
  shared->task = &task;
  if (const int more = std::min(count, threads) - 1; more > 0) {
    const auto help = [shared, memory = CurrentPool()] {
      const UsePool use(memory);
      shared->Work();
    };
    HelpersOf(helpers, most)->Ask(help, more);
  }
  // Without a helper the caller does it all.
  shared->Work();
  std::unique_lock lock(shared->mutex);
  shared->idle.wait(lock, [&] { return shared->working == 0; });
  shared->task = nullptr;
  return shared->first;
}

}  // namespace

int MachineThreads() {
  static const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return threads;
}

arrow::internal::ThreadPool* SharedPool() {
  // Never destroyed: its threads may outlive static objects. The handle is kept, too, so that a
  // leak checker finds what is meant to stay.
  static const auto* const pool = [] {
    auto made = arrow::internal::ThreadPool::MakeEternal(MachineThreads());
    return new auto(made.ok() ? *std::move(made) : nullptr);
  }();
  return pool->get();
}

Status ParallelColumns(int count, int threads, const std::function<Status(int)>& task) {
  static std::atomic<Helpers*> helpers = nullptr;
  return Run(&helpers, MachineThreads(), count, threads, task);
}

Status ParallelFor(int count, int threads, const std::function<Status(int)>& task) {
  static std::atomic<Helpers*> helpers = nullptr;
  return Run(&helpers, kWaitingThreads, count, threads, task);
}

Status RunConcurrently(size_t count, size_t threads, bool waits,
                       const std::function<Status(size_t)>& step) {
  using std::chrono::steady_clock;
  size_t next = 0;
  for (bool slow = waits; next < count && !slow && threads > 1;) {
    const auto start = steady_clock::now();
    TL_RETURN_NOT_OK(step(next++));
    slow = steady_clock::now() - start > kLongStep;
  }
  return ParallelFor(static_cast<int>(count - next), static_cast<int>(threads),
                     [&](int i) { return step(next + static_cast<size_t>(i)); });
}

}  // namespace timelake

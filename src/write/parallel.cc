#include "write/parallel.h"

#include <condition_variable>
#include <memory>

#include <arrow/util/thread_pool.h>

namespace timelake::write {
namespace {

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
    --working;
    if (working == 0) idle.notify_all();
  }
};

}  // namespace

int MachineThreads() {
  static const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return threads;
}

arrow::internal::ThreadPool* SharedPool() {
  // Never destroyed: its threads may outlive static objects.
  static const auto* pool = new std::shared_ptr<arrow::internal::ThreadPool>(
      arrow::internal::ThreadPool::MakeEternal(MachineThreads()).ValueOr(nullptr));
  return pool->get();
}

Status ParallelColumns(int count, int threads, const std::function<Status(int)>& task) {
  auto shared = std::make_shared<Shared>();
  shared->count = count;
  shared->task = &task;
  arrow::internal::ThreadPool* pool = threads > 1 && count > 1 ? SharedPool() : nullptr;
  for (int i = 1; pool != nullptr && i < std::min(count, threads); ++i) {
    // Without a helper the caller does it all.
    if (!pool->Spawn([shared] { shared->Work(); }).ok()) break;
  }
  shared->Work();
  std::unique_lock lock(shared->mutex);
  shared->idle.wait(lock, [&] { return shared->working == 0; });
  shared->task = nullptr;
  return shared->first;
}

}  // namespace timelake::write

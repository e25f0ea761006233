#include "workers.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace timelake::python {
namespace {

// Threads that wait for work; more than so many at a time end.
constexpr size_t kMostIdle = 8;

using Job = std::function<void(const std::function<void()>& done)>;

struct Worker {
  std::mutex mutex;
  std::condition_variable changed;
  Job job;
};

struct Idle {
  std::mutex mutex;
  std::vector<std::shared_ptr<Worker>> workers;
};

// Lives as long as the process: the waiting threads do.
Idle& TheIdle() {
  static Idle& idle = *new Idle();
  return idle;
}

void Run(const std::shared_ptr<Worker>& worker) {
  while (true) {
    Job job;
    {
      std::unique_lock lock(worker->mutex);
      worker->changed.wait(lock, [&] { return worker->job != nullptr; });
      job = std::exchange(worker->job, nullptr);
    }
    bool stays = false;
    job([&] {
      Idle& idle = TheIdle();
      const std::lock_guard lock(idle.mutex);
      stays = idle.workers.size() < kMostIdle;
      if (stays) idle.workers.push_back(worker);
    });
    if (!stays) return;
  }
}

}  // namespace

void RunOnWorker(Job job) {
  std::shared_ptr<Worker> worker;
  {
    Idle& idle = TheIdle();
    const std::lock_guard lock(idle.mutex);
    if (!idle.workers.empty()) {
      worker = std::move(idle.workers.back());  // the one with the warmest memory
      idle.workers.pop_back();
    }
  }
  if (!worker) {
    worker = std::make_shared<Worker>();
    worker->job = std::move(job);
    std::thread(Run, worker).detach();
    return;
  }
  {
    const std::lock_guard lock(worker->mutex);
    worker->job = std::move(job);
  }
  worker->changed.notify_one();
}

void ForgetWorkersAfterFork() {
  Idle& idle = TheIdle();
  // Another thread of the parent may have held the lock; the workers are left where they are.
  new (&idle.mutex) std::mutex();
  new (&idle.workers) std::vector<std::shared_ptr<Worker>>();
}

}  // namespace timelake::python

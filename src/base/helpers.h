#pragma once

#include <semaphore.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace timelake {

// Threads that are kept, for ParallelColumns, ParallelFor and what goes on behind a caller. They
// never end: when the process does, they wait, or find nothing left to do, and touch nothing that
// is destroyed by then. (A task of Arrow's pools is traced when it begins, by objects that are gone
// at the end.) Never destroyed; after a fork the child needs new ones.
class Helpers {
 public:
  using Task = std::function<void()>;

  // At most so many threads; they begin when they are needed.
  explicit Helpers(int most);

  // Has `task` run `times` times, at some time, as far as there are threads to be had. It must cope
  // with coming late.
  void Ask(const Task& task, int times);

  bool of_this_process() const;

 private:
  void Run();

  const int most_;
  const pid_t process_;
  std::mutex mutex_;
  std::deque<Task> tasks_;
  int threads_ = 0;
  size_t idle_ = 0;  // of them
  // As many as there are tasks. Not a condition variable: to signal one may wait for those who
  // were signalled before.
  sem_t some_;
};

// The helpers of this process at `place`, made where there are none or those of a parent.
Helpers* HelpersOf(std::atomic<Helpers*>* place, int most);

}  // namespace timelake

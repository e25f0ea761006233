#pragma once

#include <cstddef>
#include <functional>

#include "base/error.h"

namespace arrow::internal {
class ThreadPool;
}

namespace timelake {

// Threads of the machine.
int MachineThreads();

// For what Arrow itself runs in parallel: as many threads as the machine has.
arrow::internal::ThreadPool* SharedPool();

// Runs `task(0) .. task(count - 1)` on up to `threads` threads, the caller's among them. After an
// error no further task is started; the first error is returned. The caller does all that no other
// thread has begun, so that tasks may do the same in turn.
//
// ParallelColumns is for work that waits for nothing: there are as many helpers in
// the process as the machine has threads. ParallelFor is for tasks that wait, for disks and stores
// or for ParallelColumns.
Status ParallelColumns(int count, int threads, const std::function<Status(int)>& task);
Status ParallelFor(int count, int threads, const std::function<Status(int)>& task);

// ParallelFor for steps that wait for a store, if they do: most often everything is cached. The
// caller goes on alone until a step has taken longer than asking for help does, unless it is known
// that a step `waits`.
Status RunConcurrently(size_t count, size_t threads, bool waits,
                       const std::function<Status(size_t)>& step);

}  // namespace timelake

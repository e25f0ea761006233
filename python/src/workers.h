#pragma once

#include <functional>

namespace timelake::python {

// Runs `job` on a thread other than the caller's: one that has ended an earlier job if there is
// one, since the allocators of the core keep their memory by thread, and a new thread starts with
// none. `job` must call `done` at its end, when nothing of it is needed any more; the thread can
// then take another job already. Throws std::system_error when no thread can be started.
void RunOnWorker(std::function<void(const std::function<void()>& done)> job);

// In the child of a fork the threads of the parent do not exist.
void ForgetWorkersAfterFork();

}  // namespace timelake::python

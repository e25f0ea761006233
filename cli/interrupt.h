#pragma once

#include <functional>
#include <memory>
#include <string>

// Ctrl-C and SIGTERM: the first asks the running command to stop, the second ends the process.

namespace timelake::cli {

// Once, before any thread starts. Also makes writes to a closed pipe an error instead of a signal.
void CatchSignals();

// The signal that asked us to stop; 0: none.
int StopSignal();
inline bool Stopping() { return StopSignal() != 0; }

// Ends the process the way `signal` would have, had it not been caught.
[[noreturn]] void DieOf(int signal);

// While it lives, calls `stop` from a thread of its own as soon as, and every 100 ms for as long as
// we were asked to stop: what is to be stopped may not have started yet.
class StopWatcher {
 public:
  explicit StopWatcher(std::function<void()> stop);
  ~StopWatcher();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace timelake::cli

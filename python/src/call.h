#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "status.h"

namespace timelake::python {

// Stops a call from another thread. Thread-safe.
class CancelToken {
 public:
  void Cancel();
  bool cancelled() const { return cancelled_.load(); }
  // What else must be told, e.g. the session that runs the statement.
  void OnCancel(std::function<void()> action);

 private:
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::function<void()> action_;
};

// A running call, as its worker thread sees it.
class Call {
 public:
  explicit Call(std::shared_ptr<CancelToken> token) : token_(std::move(token)) {}

  bool cancelled() const { return token_->cancelled(); }
  const std::shared_ptr<CancelToken>& token() const { return token_; }

  // Runs `task` on the thread that made the call, without the GIL, and waits for it: Python code
  // behind a stream of the caller's runs where the caller expects it. Cancelled once the caller
  // has gone.
  arrow::Status OnCallingThread(std::function<arrow::Status()> task);

 private:
  friend class Pump;
  const std::shared_ptr<CancelToken> token_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<arrow::Status()> task_;
  std::optional<arrow::Status> answer_;
  std::optional<arrow::Status> done_;
  bool abandoned_ = false;
};

struct CallOptions {
  std::shared_ptr<CancelToken> token;  // null: only Ctrl-C stops the call
  // Whether Ctrl-C may leave the work behind, to end by itself, when it does not stop at once. Not
  // for commits: there the caller waits (until a second Ctrl-C) and knows the outcome.
  bool may_abandon = true;
  // Called with the GIL, some ten times a second and at the end; what it raises stops the call.
  std::function<void()> tick;
};

// Runs `work` on a thread of its own while the caller, with the GIL released, serves its tasks and
// looks for signals. Call with the GIL held. A signal handler that raises (Ctrl-C) cancels the
// work, and what it raised is thrown. Everything that `work` refers to must be owned by it.
void RunCall(const CallOptions& options,
             std::function<arrow::Status(const std::shared_ptr<Call>&)> work);

template <typename T>
T RunCall(const CallOptions& options,
          std::function<arrow::Result<T>(const std::shared_ptr<Call>&)> work) {
  auto result = std::make_shared<std::optional<T>>();
  RunCall(options, std::function<arrow::Status(const std::shared_ptr<Call>&)>(
                       [result, work = std::move(work)](const std::shared_ptr<Call>& call) {
                         auto value = work(call);
                         if (!value.ok()) return value.status();
                         *result = std::move(value).MoveValueUnsafe();
                         return arrow::Status::OK();
                       }));
  return std::move(**result);
}

// The same for a callback of the Arrow C stream, whose caller may or may not hold the GIL and takes
// no exception: after Ctrl-C the status is Cancelled and the signal is raised again for Python.
arrow::Status RunForeignCall(std::shared_ptr<CancelToken> token,
                             std::function<arrow::Status()> work);

// Log lines of the core, from any thread; handed to Python by DrainLogs, with the GIL held.
void QueueLog(int level, const std::string& message);
void DrainLogs();
void ForgetLogsAfterFork();

void BindCalls(nb::module_& m);

}  // namespace timelake::python

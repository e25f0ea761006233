#include "call.h"

#include <unistd.h>

#include <chrono>
#include <deque>
#include <string>

#include <nanobind/stl/shared_ptr.h>
#if defined(__linux__)
#include <sys/syscall.h>
#else
#include <pthread.h>
#endif

#include "timelake/error.h"
#include "workers.h"

namespace timelake::python {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kSignalPoll{10};
constexpr milliseconds kQuietPoll{100};  // where neither signals nor ticks are to be served
constexpr milliseconds kTickEvery{100};
constexpr milliseconds kGrace{25};  // for work that may be left behind

// Python runs signal handlers on the main thread only.
bool OnMainThread() {
#if defined(__linux__)
  return syscall(SYS_gettid) == getpid();
#else
  return pthread_main_np() != 0;
#endif
}

arrow::Status Guarded(const std::function<arrow::Status()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return arrow::Status::OutOfMemory("out of memory");
  } catch (const std::exception& e) {
    return arrow::Status::UnknownError("unexpected exception: ", e.what());
  }
}

arrow::Status Stopped() { return arrow::Status::Cancelled("the call was cancelled"); }

}  // namespace

void CancelToken::Cancel() {
  cancelled_ = true;
  // Under the lock: once OnCancel(nullptr) has returned, the action runs no more.
  const std::lock_guard lock(mutex_);
  if (action_) action_();
}

void CancelToken::OnCancel(std::function<void()> action) {
  {
    const std::lock_guard lock(mutex_);
    action_ = std::move(action);
  }
  if (cancelled_) Cancel();
}

arrow::Status Call::OnCallingThread(std::function<arrow::Status()> task) {
  std::unique_lock lock(mutex_);
  if (abandoned_ || cancelled()) return Stopped();
  task_ = std::move(task);
  answer_.reset();
  changed_.notify_all();
  changed_.wait(lock, [this] { return answer_ || abandoned_; });
  if (!answer_) return Stopped();
  return *std::exchange(answer_, std::nullopt);
}

// The caller's side of a call. All methods without the GIL.
class Pump {
 public:
  Pump(std::shared_ptr<CancelToken> token,
       std::function<arrow::Status(const std::shared_ptr<Call>&)> work)
      : call_(std::make_shared<Call>(std::move(token))) {
    RunOnWorker([call = call_, work = std::move(work)](const std::function<void()>& done) mutable {
      arrow::Status status = Guarded([&] { return work(call); });
      work = nullptr;  // what it owns ends before the caller goes on
      done();
      {
        const std::lock_guard lock(call->mutex_);
        call->done_ = std::move(status);
      }
      call->changed_.notify_all();
    });
  }

  ~Pump() {
    if (!Wait(milliseconds(0))) Abandon();
  }

  // Serves tasks until the work is done or the time is over.
  bool Wait(milliseconds time) {
    const auto until = Clock::now() + time;
    std::unique_lock lock(call_->mutex_);
    while (!call_->done_) {
      if (!call_->changed_.wait_until(lock, until, [this] { return call_->done_ || call_->task_; }))
        return false;
      if (!call_->task_) continue;
      auto task = std::exchange(call_->task_, nullptr);
      lock.unlock();
      arrow::Status status = call_->cancelled() ? Stopped() : Guarded(task);
      lock.lock();
      call_->answer_ = std::move(status);
      call_->changed_.notify_all();
      if (Clock::now() >= until) return call_->done_.has_value();
    }
    return true;
  }

  // An interrupt that comes before the statement has begun is lost: repeated while it runs.
  void CancelAgain() {
    if (call_->cancelled()) call_->token()->Cancel();
  }
  void Cancel() { call_->token()->Cancel(); }

  // After Wait has said that the work is done.
  arrow::Status Finish() {
    const std::lock_guard lock(call_->mutex_);
    return *call_->done_;
  }

  void Abandon() {
    const std::lock_guard lock(call_->mutex_);
    call_->abandoned_ = true;
    call_->changed_.notify_all();
  }

 private:
  std::shared_ptr<Call> call_;
};

namespace {

// With the GIL: whether a signal handler raised.
bool SignalRaised() { return PyErr_CheckSignals() != 0; }

// After Ctrl-C: waits until the work has ended or may be left.
void EndInterrupted(Pump* pump, bool may_abandon) {
  pump->Cancel();
  const auto until = Clock::now() + kGrace;
  while (!pump->Wait(kSignalPoll)) {
    pump->CancelAgain();
    if (may_abandon && Clock::now() >= until) return pump->Abandon();
    nb::gil_scoped_acquire gil;
    if (SignalRaised()) {
      PyErr_Clear();  // a second one: the first is on its way already
      return pump->Abandon();
    }
  }
}

// What the caller does while the work runs; throws what a signal handler or the tick raised.
void Attend(Pump* pump, const CallOptions& options) {
  const bool main = OnMainThread();
  const milliseconds poll = main || options.tick ? kSignalPoll : kQuietPoll;
  auto next_tick = Clock::now() + kTickEvery;
  while (!pump->Wait(poll)) {
    pump->CancelAgain();
    nb::gil_scoped_acquire gil;
    try {
      DrainLogs();
      if (main && SignalRaised()) throw nb::python_error();
      if (options.tick && Clock::now() >= next_tick) {
        options.tick();
        next_tick = Clock::now() + kTickEvery;
      }
    } catch (...) {
      nb::gil_scoped_release release;
      EndInterrupted(pump, options.may_abandon);
      throw;
    }
  }
}

}  // namespace

void RunCall(const CallOptions& options,
             std::function<arrow::Status(const std::shared_ptr<Call>&)> work) {
  auto token = options.token ? options.token : std::make_shared<CancelToken>();
  if (token->cancelled()) Check(Stopped());
  arrow::Status status;
  {
    nb::gil_scoped_release release;
    Pump pump(std::move(token), std::move(work));
    Attend(&pump, options);
    status = pump.Finish();
  }
  DrainLogs();
  if (options.tick && status.ok()) options.tick();
  Check(std::move(status));
}

namespace {

arrow::Status AttendForeign(std::shared_ptr<CancelToken> token,
                            std::function<arrow::Status()> work) {
  Pump pump(std::move(token),
            [work = std::move(work)](const std::shared_ptr<Call>&) { return work(); });
  while (!pump.Wait(kSignalPoll)) {
    pump.CancelAgain();
    bool raised = false;
    {
      nb::gil_scoped_acquire gil;
      nb::error_scope keep;
      raised = SignalRaised();
      if (raised) PyErr_Clear();
    }
    if (!raised) continue;
    EndInterrupted(&pump, true);
    PyErr_SetInterrupt();
    return arrow::Status::Cancelled("interrupted");
  }
  return pump.Finish();
}

}  // namespace

arrow::Status RunForeignCall(std::shared_ptr<CancelToken> token,
                             std::function<arrow::Status()> work) {
  if (!OnMainThread()) return Guarded(work);
  // Nothing may be thrown into the caller's C code, such as a thread that cannot be started.
  return Guarded([&] { return AttendForeign(std::move(token), std::move(work)); });
}

namespace {

constexpr size_t kMostLogLines = 10000;

struct LogLine {
  int level;
  std::string message;
};

std::mutex log_mutex;
std::deque<LogLine> log_lines;
std::atomic<bool> log_waiting{false};
int64_t log_dropped = 0;
PyObject* log_handler = nullptr;  // lives as long as the process

}  // namespace

void QueueLog(int level, const std::string& message) {
  const std::lock_guard lock(log_mutex);
  if (log_lines.size() >= kMostLogLines) {
    ++log_dropped;
  } else {
    log_lines.push_back({level, message});
  }
  log_waiting = true;
}

void DrainLogs() {
  if (!log_waiting.exchange(false) || log_handler == nullptr) return;
  std::deque<LogLine> lines;
  int64_t dropped = 0;
  {
    const std::lock_guard lock(log_mutex);
    lines.swap(log_lines);
    dropped = std::exchange(log_dropped, 0);
  }
  if (dropped > 0) lines.push_back({2, std::to_string(dropped) + " log lines were dropped"});
  for (const LogLine& line : lines) {
    // A handler that raises is logging's own trouble, never the call's.
    PyObject* text = PyUnicode_DecodeUTF8(
        line.message.data(), static_cast<Py_ssize_t>(line.message.size()), "backslashreplace");
    PyObject* result = text ? PyObject_CallFunction(log_handler, "iO", line.level, text) : nullptr;
    if (result == nullptr) PyErr_WriteUnraisable(log_handler);
    Py_XDECREF(text);
    Py_XDECREF(result);
  }
}

void ForgetLogsAfterFork() {
  // Another thread of the parent may have held it.
  new (&log_mutex) std::mutex();
  log_lines.clear();
}

void BindCalls(nb::module_& m) {
  nb::class_<CancelToken>(m, "CancelToken")
      .def("__init__", [](CancelToken* self) { new (self) CancelToken(); })
      .def("cancel", &CancelToken::Cancel, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("cancelled", &CancelToken::cancelled);
  m.def("set_log_handler", [](nb::callable handler) { log_handler = handler.release().ptr(); });
}

}  // namespace timelake::python

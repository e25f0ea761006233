#include "interrupt.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

namespace timelake::cli {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(100);

std::atomic<int> stop_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void OnStopSignal(int signal) {
  if (stop_signal.exchange(signal) == 0) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void CatchSignals() {
  struct sigaction action = {};
  action.sa_handler = OnStopSignal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);  // without SA_RESTART: a read of stdin ends
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

int StopSignal() { return stop_signal.load(); }

void DieOf(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  std::raise(signal);
  std::abort();
}

// Polling costs ten wake-ups a second and spares a pipe that the handler would have to write to.
class StopWatcher::Impl {
 public:
  explicit Impl(std::function<void()> stop) : stop_(std::move(stop)) {
    thread_ = std::thread([this] { Run(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kPollInterval, [this] { return done_; })) {
      if (Stopping()) stop_();
    }
  }

  std::function<void()> stop_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

StopWatcher::StopWatcher(std::function<void()> stop)
    : impl_(std::make_unique<Impl>(std::move(stop))) {}

StopWatcher::~StopWatcher() = default;

}  // namespace timelake::cli

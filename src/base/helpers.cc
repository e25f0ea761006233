#include "base/helpers.h"

#include <unistd.h>

#include <system_error>
#include <thread>
#include <utility>

namespace timelake {

Helpers::Helpers(int most) : most_(most), process_(getpid()) {}

bool Helpers::of_this_process() const { return process_ == getpid(); }

void Helpers::Ask(const Task& task, int times) {
  {
    std::lock_guard lock(mutex_);
    for (int i = 0; i < times; ++i) tasks_.push_back(task);
    try {
      while (idle_ < tasks_.size() && threads_ < most_) {
        std::thread([this] { Run(); }).detach();
        ++threads_;
        ++idle_;
      }
    } catch (const std::system_error&) {
      // No more threads to be had: those that run do it, or the caller alone.
      if (threads_ == 0) tasks_.clear();
    }
  }
  // One each: a dozen others that wait would cost more than many a task.
  for (int i = 0; i < times; ++i) some_.notify_one();
}

Helpers* HelpersOf(std::atomic<Helpers*>* place, int most) {
  Helpers* known = place->load();
  if (known != nullptr && known->of_this_process()) return known;
  auto* made = new Helpers(most);
  if (place->compare_exchange_strong(known, made)) return made;
  delete made;  // it has no threads yet
  return known;
}

void Helpers::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    some_.wait(lock, [&] { return !tasks_.empty(); });
    --idle_;
    {
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
    lock.lock();
    ++idle_;
  }
}

}  // namespace timelake

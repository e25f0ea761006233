#include "base/helpers.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <system_error>
#include <thread>
#include <utility>

namespace timelake {

Helpers::Helpers(int most) : most_(most), process_(getpid()) { sem_init(&some_, 0, 0); }

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
      if (threads_ == 0) {
        tasks_.clear();
        return;
      }
    }
  }
  // One each: a dozen others that wait would cost more than many a task.
  for (int i = 0; i < times; ++i) sem_post(&some_);
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
  // Who asks for help goes on, and is not made to wait for the helper if there is no other
  // processor.
  const sched_param none{};
  (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
  while (true) {
    while (sem_wait(&some_) != 0) {  // a signal came
    }
    std::unique_lock lock(mutex_);
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

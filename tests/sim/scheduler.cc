#include "sim/scheduler.h"

#include <algorithm>
#include <exception>
#include <limits>

namespace timelake::sim {
namespace {

constexpr int64_t kOutsideStepUs = 1000;

}  // namespace

void Scheduler::Spawn(std::string name, std::function<void()> body) {
  auto& task = tasks_.emplace_back(std::make_unique<Task>(std::move(name)));
  task->body = std::move(body);
}

void Scheduler::Body(Task* self) {
  self->baton.acquire();
  if (!self->killed) {
    try {
      self->body();
    } catch (const Died&) {
    }
  }
  self->ended = true;
  current_ = Next();
  if (current_ != nullptr) {
    current_->baton.release();
  } else {
    all_ended_.release();
  }
}

void Scheduler::Run(Hooks hooks) {
  hooks_ = std::move(hooks);
  for (const auto& task : tasks_) {
    task->thread = std::thread([this, self = task.get()] { Body(self); });
  }
  current_ = Next();
  if (current_ != nullptr) {
    current_->baton.release();
    all_ended_.acquire();
  }
  for (const auto& task : tasks_) task->thread.join();
  tasks_.clear();
}

// The task that goes on; null when all have ended.
Scheduler::Task* Scheduler::Next() {
  while (true) {
    if (std::all_of(tasks_.begin(), tasks_.end(), [](const auto& t) { return t->ended; })) {
      return nullptr;
    }
    ++steps_;
    hooks_.step();
    Task* task = Choose();
    if (task == nullptr) continue;
    if (task->killed || one_by_one_) return task;
    const int64_t pause = hooks_.suspend(*task);
    if (pause == 0) return task;
    task->wake_us = now_us_ + pause;
  }
}

// Null: all were asleep, and time has gone on to the next thing that happens.
Scheduler::Task* Scheduler::Choose() {
  std::vector<Task*> awake;
  int64_t next_us = hooks_.next_event_us();
  for (const auto& task : tasks_) {
    if (task->ended) continue;
    if (task->killed) return task.get();
    if (one_by_one_) {
      now_us_ = std::max(now_us_, task->wake_us);
      return task.get();
    }
    if (task->wake_us <= now_us_) awake.push_back(task.get());
    next_us = std::min(next_us, task->wake_us);
  }
  if (awake.empty()) {
    now_us_ = std::max(now_us_, next_us);
    return nullptr;
  }
  return awake[random_->Below(awake.size())];
}

void Scheduler::HandOn(Task* self) {
  Task* next = Next();  // never null: `self` has not ended
  if (next == self) return;
  current_ = next;
  next->baton.release();
  self->baton.acquire();
}

void Scheduler::Yield() {
  Task* self = current_;
  if (self == nullptr) {
    Advance(kOutsideStepUs);
    return;
  }
  if (std::uncaught_exceptions() > 0) return;  // dying already
  HandOn(self);
  if (self->killed) throw Died();
}

void Scheduler::Sleep(int64_t us) {
  if (current_ == nullptr) {
    Advance(us);
    return;
  }
  current_->wake_us = now_us_ + us;
  Yield();
}

void Scheduler::KillAll() {
  for (const auto& task : tasks_) Kill(task.get());
}

}  // namespace timelake::sim

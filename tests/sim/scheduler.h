#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"

namespace timelake::sim {

// Thrown through the product's code where a process dies: its thread ends, and nothing that it
// asks for afterwards has an effect.
struct Died {};

// Runs tasks on threads of their own, exactly one at any time: a baton is handed on wherever a task
// yields, so a run is a sequence that a seed repeats exactly. The baton guards all shared state.
class Scheduler {
 public:
  struct Task {
    explicit Task(std::string name) : name(std::move(name)) {}

    const std::string name;
    int64_t wake_us = 0;  // asleep or suspended until then
    bool killed = false;
    bool ended = false;
    std::function<void()> body;
    std::binary_semaphore baton{0};
    std::thread thread;
  };

  // The world between two steps. Called with the baton held.
  struct Hooks {
    std::function<void()> step;                   // before every choice: time passes
    std::function<int64_t(const Task&)> suspend;  // of the task chosen; 0: it runs
    std::function<int64_t()> next_event_us;       // when `step` has work; INT64_MAX: never
  };

  Scheduler(std::shared_ptr<Random> random, int64_t start_us)
      : random_(std::move(random)), now_us_(start_us) {}

  int64_t now_us() const { return now_us_; }
  void Advance(int64_t us) { now_us_ += us; }

  // Before Run.
  void Spawn(std::string name, std::function<void()> body);

  // Until all tasks have ended.
  void Run(Hooks hooks);

  // From a task: others may run first. From outside of all tasks: only time passes.
  void Yield();
  void Sleep(int64_t us);

  // Each ends where it is as soon as it is its turn.
  void Kill(Task* task) { task->killed = true; }
  void KillAll();

  // From now on tasks run one after the other, each to its end.
  void OneByOne() { one_by_one_ = true; }

  Task* current() const { return current_; }
  int64_t steps() const { return steps_; }
  const std::vector<std::unique_ptr<Task>>& tasks() const { return tasks_; }

 private:
  Task* Next();
  Task* Choose();
  void HandOn(Task* self);
  void Body(Task* self);

  const std::shared_ptr<Random> random_;
  int64_t now_us_;
  int64_t steps_ = 0;
  bool one_by_one_ = false;
  Hooks hooks_;
  std::vector<std::unique_ptr<Task>> tasks_;
  Task* current_ = nullptr;
  std::binary_semaphore all_ended_{0};
};

}  // namespace timelake::sim

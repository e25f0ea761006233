#pragma once

#include "sim/process.h"

namespace timelake::sim {

// The hint is lost, old, too high or garbage.
void SpoilHint(Scene* scene);

// What befalls a run between two steps: time, late effects, suspensions, crashes, a lost or wrong
// hint, clocks set anew, the power.
class Mishaps {
 public:
  Mishaps(Scene* scene, std::vector<std::unique_ptr<Process>>* processes)
      : scene_(*scene), processes_(*processes) {}

  Scheduler::Hooks Hooks();

  // After a run of the scheduler: the processes are dead and the disk has forgotten.
  bool power_was_lost() const { return power_lost_; }
  void LosePower();

  // From here on nothing goes wrong any more; what is on its way arrives.
  void Calm();

 private:
  void Step();
  void Strike();
  int64_t Suspend(const Scheduler::Task& task);
  void SetClock();
  void Arrive(int64_t until_us);

  Scene& scene_;
  std::vector<std::unique_ptr<Process>>& processes_;
  bool power_lost_ = false;
};

}  // namespace timelake::sim

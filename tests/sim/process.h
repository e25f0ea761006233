#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/config.h"
#include "sim/scheduler.h"
#include "sim/sim_clock.h"
#include "sim/trace.h"
#include "sim/world.h"
#include "store/fault_store.h"
#include "store/memory_store.h"
#include "store/power_loss_store.h"
#include "table/env.h"
#include "table/handle.h"

namespace timelake::sim {

// What all processes of a run share.
struct Scene {
  Scene(const Config& config, bool keep_trace);

  double time() const { return static_cast<double>(scheduler.now_us()) / kUnitUs; }
  std::shared_ptr<store::ObjectStore> shared_store() const {
    return power ? std::static_pointer_cast<store::ObjectStore>(power) : disk;
  }

  const Config config;
  Trace trace;
  const std::shared_ptr<Random> random;  // of the order of steps and of mishaps
  Scheduler scheduler;
  const std::shared_ptr<store::MemoryStore> disk;
  const std::shared_ptr<store::PowerLossStore> power;  // null: the power stays on
  World world;
  std::multimap<int64_t, std::function<void()>> late;  // effects that are still on their way
  bool calm = false;                                   // no more mishaps
};

// One simulated process: a store that fails, a clock of its own, and a handle as long as it lives.
class Process {
 public:
  Process(Scene* scene, std::string name, uint64_t seed);

  // A new incarnation: nothing is known or cached.
  void Restart();
  void FreshHandle();

  Scene& scene() { return *scene_; }
  World& world() { return scene_->world; }
  const table::Env& env() const { return env_; }
  table::Handle& handle() { return *handles_.back(); }
  Random& random() { return *random_; }
  SimClock& clock() { return *clock_; }
  const std::string& name() const { return name_; }

  uint64_t Below(uint64_t bound) { return random_->Below(bound); }
  bool Maybe(double probability) { return Chance(*random_, probability); }
  void Note(const std::string& what);

 private:
  store::FaultHooks Hooks();
  store::Fault NextFault(const store::Op& op);
  void Pause(const store::Op& op, store::YieldPoint point);

  Scene* const scene_;
  const std::string name_;
  const std::shared_ptr<Random> random_;  // of what the process does and draws
  const std::shared_ptr<SimClock> clock_;
  table::Env env_;
  // The last is in use; another thread of this process may still be in a call through one before.
  std::vector<std::unique_ptr<table::Handle>> handles_;
};

}  // namespace timelake::sim

#include "sim/mishaps.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

namespace timelake::sim {
namespace {

constexpr int64_t kMaxSteps = 5000;  // after that all is calm and each process ends its turns
constexpr int64_t kTooManySteps = 100'000;
constexpr int64_t kCalmStepUs = 1000;
constexpr int64_t kSuspensions[] = {10, 40, 60, 150, 400, 900};  // units
constexpr int64_t kLongSuspension = 150 * kUnitUs;

}  // namespace

void SpoilHint(Scene* scene) {
  Random& random = *scene->random;
  const int64_t newest = scene->world.newest();
  const std::string key = std::string(kFolder) + "/metadata/version-hint.text";
  // An old one may name a version that was freed, or a dead fork.
  std::set<int64_t> old = scene->world.present();
  old.insert(std::max<int64_t>(1, newest - 5));
  const auto any = std::next(old.begin(), static_cast<int64_t>(random.Below(old.size())));
  const std::string texts[] = {"", std::to_string(*any), std::to_string(newest + 3), "x"};
  const std::string& text = texts[random.Below(std::size(texts))];
  scene->trace.Add(scene->time(), "",
                   text.empty() ? "the hint is lost" : "the hint becomes " + text);
  scene->world.HintInjected();
  scene->world.Count("mishaps: hints spoiled");
  if (text.empty()) {
    (void)scene->shared_store()->Delete(key);
  } else {
    (void)scene->shared_store()->Put(key, arrow::Buffer::FromString(text));
  }
}

Scheduler::Hooks Mishaps::Hooks() {
  Scheduler::Hooks hooks;
  hooks.step = [this] { Step(); };
  hooks.suspend = [this](const Scheduler::Task& task) { return Suspend(task); };
  hooks.next_event_us = [this] {
    return scene_.late.empty() ? std::numeric_limits<int64_t>::max() : scene_.late.begin()->first;
  };
  return hooks;
}

void Mishaps::Arrive(int64_t until_us) {
  while (!scene_.late.empty() && scene_.late.begin()->first <= until_us) {
    auto effect = std::move(scene_.late.begin()->second);
    scene_.late.erase(scene_.late.begin());
    effect();
  }
}

void Mishaps::Step() {
  Scheduler& scheduler = scene_.scheduler;
  if (scheduler.steps() > kTooManySteps) return scene_.world.Fail("does not end");
  if (scene_.calm) return scheduler.Advance(kCalmStepUs);
  Random& random = *scene_.random;
  scheduler.Advance(static_cast<int64_t>(random.Below(2 * scene_.config.step_us)));
  if (Chance(random, scene_.config.jumps)) {
    scheduler.Advance(static_cast<int64_t>(random.Below(kAgeUs)));
  }
  Arrive(scheduler.now_us());
  if (scheduler.steps() > kMaxSteps) return Calm();
  Strike();
}

void Mishaps::Strike() {
  Random& random = *scene_.random;
  const Config& config = scene_.config;
  const auto& tasks = scene_.scheduler.tasks();
  if (config.injected_hints && Chance(random, config.hint_spoils)) SpoilHint(&scene_);
  if (config.wrong_clocks && Chance(random, 0.002)) SetClock();
  if (Chance(random, config.crashes)) {
    Scheduler::Task* task = tasks[random.Below(tasks.size())].get();
    scene_.trace.Add(scene_.time(), task->name, "crashes");
    scene_.world.Count("mishaps: crashes");
    scene_.scheduler.Kill(task);
  }
  if (config.power_loss && !power_lost_ && Chance(random, 0.002)) {
    scene_.trace.Add(scene_.time(), "", "the power goes");
    scene_.world.Count("mishaps: power losses");
    power_lost_ = true;
    scene_.scheduler.KillAll();
  }
}

int64_t Mishaps::Suspend(const Scheduler::Task& task) {
  Random& random = *scene_.random;
  if (!Chance(random, scene_.config.suspensions)) return 0;
  const int64_t us = kSuspensions[random.Below(std::size(kSuspensions))] * kUnitUs;
  scene_.trace.Add(scene_.time(), task.name, fmt::format("is suspended for {}", us / kUnitUs));
  scene_.world.Count(us > kAgeUs ? "mishaps: suspended past the age" : "mishaps: suspended");
  if (scene_.config.injected_hints && us >= kLongSuspension && Chance(random, 0.1))
    SpoilHint(&scene_);
  return us;
}

// A process's wall clock is corrected, or goes wrong.
void Mishaps::SetClock() {
  Random& random = *scene_.random;
  Process& process = *processes_[random.Below(processes_.size())];
  const int64_t offset =
      static_cast<int64_t>(random.Below(2 * kMaxWallOffsetUs)) - kMaxWallOffsetUs;
  process.clock().set_wall_offset_us(random.Below(2) == 0 ? 0 : offset);
}

void Mishaps::LosePower() {
  scene_.late.clear();
  scene_.power->PowerLoss(scene_.random.get());
  scene_.world.PowerLost();
  power_lost_ = false;
}

void Mishaps::Calm() {
  scene_.calm = true;
  scene_.scheduler.Advance(1000 * kUnitUs);
  Arrive(std::numeric_limits<int64_t>::max());
  scene_.scheduler.OneByOne();
}

}  // namespace timelake::sim

#include "sim/run.h"

#include "sim/foreign.h"
#include "sim/mishaps.h"
#include "sim/processes.h"
#include "sim/rollup.h"

namespace timelake::sim {
namespace {

using Turn = std::function<void(Process&)>;

constexpr int64_t kLongestWaitUs = 24'000'000;

class Simulation {
 public:
  Simulation(const Config& config, bool keep_trace)
      : scene_(config, keep_trace), mishaps_(&scene_, &processes_) {}

  RunReport Run();

 private:
  Process& Add(const std::string& name);
  Process& Spawn(const std::string& kind, const Turn& turn);
  void Spawn(Process& process, const std::string& name, const Turn& turn);
  void SpawnAll();
  void Body(Process& process, const Turn& turn, uint64_t turns);
  void Quiet();
  bool failed() const { return !scene_.world.failure().empty(); }

  Scene scene_;
  std::vector<std::unique_ptr<Process>> processes_;
  Mishaps mishaps_;
  Rollup rollup_;
};

Process& Simulation::Add(const std::string& name) {
  auto& process =
      processes_.emplace_back(std::make_unique<Process>(&scene_, name, scene_.random->Next64()));
  if (scene_.config.wrong_clocks && name != "end") {
    const int64_t minutes = static_cast<int64_t>(scene_.random->Below(21)) - 10;
    process->clock().set_wall_offset_us(minutes * 60'000'000);
  }
  return *process;
}

void Simulation::Body(Process& process, const Turn& turn, uint64_t turns) {
  for (uint64_t i = 0; i < turns; ++i) {
    if (process.Maybe(scene_.config.restarts)) process.Restart();
    turn(process);
    constexpr uint64_t kPauses[] = {0, 0, 2, 6};
    for (uint64_t pause = kPauses[process.Below(4)]; pause > 0; --pause) {
      scene_.scheduler.Yield();
    }
  }
}

void Simulation::Spawn(Process& process, const std::string& name, const Turn& turn) {
  const uint64_t turns = 2 + process.Below(5) + static_cast<uint64_t>(scene_.config.more_turns);
  scene_.scheduler.Spawn(name, [this, &process, turn, turns] { Body(process, turn, turns); });
}

Process& Simulation::Spawn(const std::string& kind, const Turn& turn) {
  Process& process = Add(kind + std::to_string(processes_.size()));
  Spawn(process, process.name(), turn);
  return process;
}

void Simulation::SpawnAll() {
  const Config& config = scene_.config;
  const bool create = config.racing_creates && scene_.world.newest() == 0;
  for (int i = 0; create && i < 2; ++i) Spawn("N", CreatorTurn);
  for (int i = 0; i < config.writers; ++i) {
    Process& writer = Spawn("W", WriterTurn);
    if (config.shared_handle && i == 0) Spawn(writer, writer.name() + "b", WriterTurn);
  }
  for (int i = 0; i < config.maintainers; ++i) Spawn("M", MaintainerTurn);
  for (int i = 0; i < config.rewriters; ++i) Spawn("C", RewriterTurn);
  for (int i = 0; i < config.retainers; ++i) Spawn("T", RetainerTurn);
  for (int i = 0; i < config.changers; ++i) Spawn("S", ChangerTurn);
  for (int i = 0; i < config.readers; ++i) Spawn("R", ReaderTurn);
  for (int i = 0; i < config.rollers; ++i) Spawn("B", RollerTurn);
  for (int i = 0; i < config.droppers; ++i) Spawn("D", DropperTurn);
  for (int i = 0; i < config.refreshers; ++i) {
    Spawn("U", [this](Process& p) { rollup_.Turn(p); });
  }
  for (int i = 0; i < config.foreigners; ++i) {
    Spawn("F", [foreign = std::make_shared<Foreign>()](Process& p) { foreign->Turn(p); });
  }
}

// Everybody has gone, nothing fails: a new process finds the newest version, can append, and leaves
// one version after the age.
void Simulation::Quiet() {
  World& world = scene_.world;
  const Config& config = scene_.config;
  Scheduler& scheduler = scene_.scheduler;
  if (world.newest() == 0) return;
  Process& end = Add("end");
  const auto wait = [&] { scheduler.Advance(10 * kAgeUs); };
  if (world.dropped()) {
    const Status created = Create(end);
    if (!created.ok()) return world.Fail("last create: " + created.ToString());
  }
  auto loaded = Load(end);
  if (!loaded.ok()) return world.Fail("last load: " + loaded.status().ToString());
  if (config.last_append && Append(end, {{0, 0, world.NextValue()}}, "") != Outcome::kOk) {
    return world.Fail("the last append did not succeed");
  }
  if (config.refreshers > 0) rollup_.Turn(end);
  wait();
  if (config.last_expiry) Expire(end);
  for (int i = 0; i < 2 && !failed(); ++i) {
    wait();
    Free(end);
  }
  if (failed()) return;
  if (world.hint() != world.newest()) return world.Fail("the hint is behind after maintenance");
  world.CheckBatchIds(end.env());
  // The foreign writer prunes by rules of its own, and a disk may bring back what was deleted.
  if (config.foreign || config.power_loss) return;
  if (world.present().size() > 1) {
    return world.Fail(
        fmt::format("freeing is stuck: {} versions are left", world.present().size()));
  }
  world.CheckNoLeak();
}

RunReport Simulation::Run() {
  if (!scene_.config.racing_creates) {
    const Status created = Create(Add("new"));
    if (!created.ok()) scene_.world.Fail("first create: " + created.ToString());
  }
  do {
    if (mishaps_.power_was_lost()) mishaps_.LosePower();
    if (failed()) break;
    SpawnAll();
    scene_.scheduler.Run(mishaps_.Hooks());
  } while (mishaps_.power_was_lost() && !failed());
  if (!failed()) mishaps_.Calm();
  if (!failed()) Quiet();
  for (const auto& process : processes_) {
    if (process->clock().longest_sleep_us() > kLongestWaitUs) {
      scene_.world.Fail(fmt::format("{} waits for {} s between two attempts", process->name(),
                                    process->clock().longest_sleep_us() / 1'000'000));
    }
  }
  if (!failed()) scene_.world.CheckEnd();
  return {scene_.world.failure(), scene_.trace.hash(), scene_.trace.lines(), scene_.world.counts()};
}

}  // namespace

RunReport Run(const Config& config, bool keep_trace) {
  return Simulation(config, keep_trace).Run();
}

}  // namespace timelake::sim

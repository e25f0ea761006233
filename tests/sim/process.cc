#include "sim/process.h"

#include <iterator>

#include "sim/mishaps.h"
#include "table/meta_cache.h"
#include "table/versions.h"

namespace timelake::sim {
namespace {

using store::Fault;
using store::FaultAction;
using store::Op;
using store::OpKind;

constexpr int64_t kStartUs = 1000 * kUnitUs;
constexpr int64_t kHaste = 16;  // see SimClock

std::string Short(const std::string& key) {
  const size_t slash = key.rfind('/');
  return slash == std::string::npos ? key : key.substr(slash + 1);
}

bool Changes(OpKind kind) {
  return kind == OpKind::kPut || kind == OpKind::kPutIfAbsent || kind == OpKind::kPutIfMatch ||
         kind == OpKind::kDelete;
}

bool IsConditional(OpKind kind) {
  return kind == OpKind::kPutIfAbsent || kind == OpKind::kPutIfMatch;
}

std::string_view PointName(store::YieldPoint point) {
  switch (point) {
    case store::YieldPoint::kBeforeEffect: return "";
    case store::YieldPoint::kBeforeReply: return " done";
    case store::YieldPoint::kBetweenPages: return " page";
  }
  return "";
}

std::string_view ActionName(FaultAction action) {
  switch (action) {
    case FaultAction::kNone: return "";
    case FaultAction::kError: return " [not sent]";
    case FaultAction::kDropBefore: return " [lost]";
    case FaultAction::kDropAfter: return " [reply lost]";
    case FaultAction::kRepeat409: return " [409]";
    case FaultAction::kExists412: return " [412]";
    case FaultAction::kDelay: return " [late]";
  }
  return "";
}

}  // namespace

Scene::Scene(const Config& config, bool keep_trace)
    : config(config),
      trace(keep_trace),
      random(SeededRandom(config.seed)),
      scheduler(random, kStartUs),
      disk(std::make_shared<store::MemoryStore>(std::make_shared<SimClock>(&scheduler))),
      power(config.power_loss ? std::make_shared<store::PowerLossStore>(disk) : nullptr),
      world(this->config, &scheduler, &trace, disk) {}

Process::Process(Scene* scene, std::string name, uint64_t seed)
    : scene_(scene),
      name_(std::move(name)),
      random_(SeededRandom(seed)),
      clock_(std::make_shared<SimClock>(
          &scene->scheduler, static_cast<int64_t>(random_->Below(1'000'000'000'000)), kHaste)) {
  env_.store = store::MakeFaultStore(
      scene->shared_store(), Hooks(),
      {.list_page = scene->config.list_page, .compare_and_swap = scene->config.compare_and_swap});
  env_.clock = clock_;
  env_.random = random_;
  env_.rules = scene->config.rules;
  env_.observer = std::make_shared<Observer>();
  env_.observer->log = [this](LogLevel, const std::string& message) { Note("log: " + message); };
  Restart();
}

void Process::Restart() {
  env_.cache = std::make_shared<table::MetaCache>();
  FreshHandle();
}

void Process::FreshHandle() {
  handles_.push_back(std::make_unique<table::Handle>(env_, "default.cpu", kFolder));
}

void Process::Note(const std::string& what) {
  const auto* task = scene_->scheduler.current();
  scene_->trace.Add(scene_->time(), task == nullptr ? name_ : task->name, what);
}

Fault Process::NextFault(const Op& op) {
  const auto* task = scene_->scheduler.current();
  if (task == nullptr || scene_->calm) return {};
  if (task->killed) return {FaultAction::kError};
  const Config& config = scene_->config;
  Random& random = *scene_->random;
  if (Chance(random, config.faults)) {
    return {Chance(random, 0.2) ? FaultAction::kError : FaultAction::kDropBefore};
  }
  if (Changes(op.kind) && Chance(random, config.faults)) return {FaultAction::kDropAfter};
  const bool conditional = IsConditional(op.kind);
  if ((conditional || op.kind == OpKind::kDelete) && Chance(random, config.late)) {
    return {FaultAction::kDelay};
  }
  if (conditional && Chance(random, config.faults / 5)) return {FaultAction::kRepeat409};
  const bool hint = op.key.ends_with("version-hint.text");
  if (hint && Changes(op.kind) && Chance(random, config.hint_faults))
    return {FaultAction::kDropBefore};
  return {};
}

// Others run; now and then for long, where that matters most.
void Process::Pause(const Op& op, store::YieldPoint point) {
  const Config& config = scene_->config;
  Random& random = *scene_->random;
  double chance = 0;
  if (!scene_->calm && table::VersionNumber(kFolder, op.key)) {
    if (op.kind == OpKind::kPutIfAbsent) chance = config.put_sleeps;
    const bool reply = point == store::YieldPoint::kBeforeReply;
    if (op.kind == OpKind::kGet && reply) chance = config.probe_sleeps;
  }
  if (chance == 0 || !Chance(random, chance)) return scene_->scheduler.Yield();
  constexpr int64_t kSleeps[] = {150, 400, 900};  // units
  const int64_t units = kSleeps[random.Below(std::size(kSleeps))];
  Note(fmt::format("sleeps for {}", units));
  world().Count(op.kind == OpKind::kGet ? "mishaps: long sleeps at a probe"
                                        : "mishaps: long sleeps at a put");
  if (config.injected_hints && Chance(random, 0.2)) SpoilHint(scene_);
  scene_->scheduler.Sleep(units * kUnitUs);
}

store::FaultHooks Process::Hooks() {
  store::FaultHooks hooks;
  hooks.before = [this](const Op& op) {
    const Fault fault = NextFault(op);
    if (fault.action != FaultAction::kNone) {
      Note(fmt::format("{} {}{}", OpName(op.kind), Short(op.key), ActionName(fault.action)));
      world().Count("requests" + std::string(ActionName(fault.action)));
    }
    return fault;
  };
  hooks.observe = [this](const Op& op, const std::shared_ptr<arrow::Buffer>& bytes) {
    const std::string what = op.key.ends_with("version-hint.text") && bytes
                                 ? " = " + bytes->ToString()
                                 : fmt::format(" ({})", bytes ? bytes->size() : 0);
    Note(fmt::format("{} {}{} takes effect", OpName(op.kind), Short(op.key), what));
    if (bytes) {
      world().Written(op.key, bytes);
    } else {
      world().Deleted(op.key);
    }
  };
  hooks.yield = [this](const Op& op, store::YieldPoint point) {
    Note(fmt::format("{} {}{}", OpName(op.kind), Short(op.key), PointName(point)));
    Pause(op, point);
  };
  hooks.defer = [this](const Op&, std::function<void()> effect) {
    const int64_t delay = static_cast<int64_t>(scene_->random->Below(kAgeUs / 4)) + kUnitUs;
    scene_->late.emplace(scene_->scheduler.now_us() + delay, std::move(effect));
  };
  return hooks;
}

}  // namespace timelake::sim

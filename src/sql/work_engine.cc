#include "sql/work_engine.h"

#include <mutex>
#include <utility>
#include <vector>

#include <unistd.h>

namespace timelake::sql {
namespace {

constexpr size_t kMostIdle = 2;

struct Idle {
  std::mutex mutex;
  std::vector<std::shared_ptr<Engine>> engines;
};

// Never destroyed: engines have threads, which at the end of the process are not waited for. A
// process that was forked has none of them: it begins anew.
Idle& IdleEngines() {
  static std::mutex mutex;
  static Idle* idle = nullptr;
  static pid_t owner = 0;
  std::lock_guard lock(mutex);
  if (!idle || owner != getpid()) {
    idle = new Idle();
    owner = getpid();
  }
  return *idle;
}

std::shared_ptr<Engine> TakeIdle() {
  Idle& idle = IdleEngines();
  std::lock_guard lock(idle.mutex);
  if (idle.engines.empty()) return nullptr;
  auto engine = std::move(idle.engines.back());
  idle.engines.pop_back();
  return engine;
}

}  // namespace

Result<WorkEngine> WorkEngine::Take(EngineOptions options) {
  options.files = false;
  auto engine = TakeIdle();
  if (engine && engine->Reuse(options)) return WorkEngine(std::move(engine));
  TL_ASSIGN_OR_RAISE(engine, Engine::Make(std::move(options)));
  return WorkEngine(std::move(engine));
}

void WorkEngine::Return() {
  if (!engine_ || !engine_->Release()) return;
  Idle& idle = IdleEngines();
  std::lock_guard lock(idle.mutex);
  if (idle.engines.size() < kMostIdle) idle.engines.push_back(std::move(engine_));
}

}  // namespace timelake::sql

#pragma once

#include <memory>

#include "base/error.h"
#include "sql/engine.h"

namespace timelake::sql {

// An engine for work of the library's own on a lake, such as the refresh of a rollup. Making one
// takes more than ten milliseconds of a processor, so a few are kept in the process for the next
// such work, of whatever lake.
class WorkEngine {
 public:
  // Of the options a session's own have to be the defaults, and `files` is false.
  static Result<WorkEngine> Take(EngineOptions options);

  WorkEngine(WorkEngine&&) = default;
  WorkEngine& operator=(WorkEngine&&) = default;
  ~WorkEngine() = default;  // without Return the engine goes

  Engine& operator*() const { return *engine_; }
  Engine* operator->() const { return engine_.get(); }

  // Keeps it for others: all results have been read, and nothing is left in it, neither tables nor
  // settings.
  void Return();

 private:
  explicit WorkEngine(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}

  std::shared_ptr<Engine> engine_;
};

}  // namespace timelake::sql

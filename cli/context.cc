#include "context.h"

#include <mutex>

#include <fmt/format.h>

#include "arguments.h"
#include "console.h"
#include "human.h"

namespace timelake::cli {

class Context::Counters {
 public:
  void Add(const char* name, int64_t value) {
    const std::lock_guard lock(mutex_);
    totals_[name] += value;
  }

  std::string Text() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& [name, total] : totals_) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, Count(total));
    }
    return text;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> totals_;
};

std::shared_ptr<Observer> Context::MakeObserver() {
  auto observer = std::make_shared<Observer>();
  observer->log = [verbosity = verbosity](LogLevel level, const std::string& message) {
    switch (level) {
      case LogLevel::kWarning: return Say("warning", message);
      case LogLevel::kInfo:
        if (verbosity >= 1) Say("info", message);
        return;
      case LogLevel::kDebug:
        if (verbosity >= 2) Say("debug", message);
        return;
    }
  };
  if (verbosity >= 1) {
    counters_ = std::make_shared<Counters>();
    observer->metric = [counters = counters_](const char* name, int64_t value) {
      counters->Add(name, value);
    };
  }
  return observer;
}

Result<Lake> Context::OpenLake(const std::map<std::string, std::string>& settings) {
  LakeOptions options;
  ARROW_ASSIGN_OR_RAISE(options.storage_options, ParsePairs(storage_options, "-o"));
  if (!cache_dir.empty()) {
    options.storage_options.emplace("timelake_cache", "disk");
    options.storage_options["timelake_cache_dir"] = cache_dir;
  }
  if (!cache_bytes.empty()) options.storage_options["timelake_cache_disk_bytes"] = cache_bytes;
  options.settings = settings;
  options.observer = MakeObserver();
  return Lake::Open(warehouse, options);
}

Result<Table> Context::OpenTable(std::string_view name) {
  ARROW_ASSIGN_OR_RAISE(Lake lake, OpenLake());
  return lake.OpenTable(name);
}

void Context::SayCounters() const {
  if (counters_ == nullptr) return;
  if (const std::string text = counters_->Text(); !text.empty()) Say("info", text);
}

}  // namespace timelake::cli

#include "sql/statement_timeout.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <duckdb/common/error_data.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/main/client_context_state.hpp>
#include <duckdb/main/config.hpp>
#include <duckdb/main/database.hpp>

#include "base/duration.h"
#include "sql/error.h"

namespace timelake::sql {

namespace {

using Clock = std::chrono::steady_clock;

constexpr char kOption[] = "timelake_statement_timeout";
constexpr char kState[] = "timelake_statement_timeout";

// Nothing: no timeout. In microseconds.
Result<std::optional<int64_t>> Parse(const std::string& text) {
  if (text.empty()) return std::nullopt;
  TL_ASSIGN_OR_RAISE(const int64_t micros, ParseDuration(text));
  if (micros <= 0) return InvalidArgument("a timeout must be positive");
  return micros;
}

void Check(duckdb::ClientContext&, duckdb::SetScope, duckdb::Value& value) {
  const auto parsed = Parse(value.IsNull() ? "" : value.ToString());
  if (parsed.ok()) return;
  Throw(InvalidArgument("{} = '{}': {}; '30s', '500ms' or '' for none", kOption, value.ToString(),
                        MessageOf(parsed.status())));
}

// Interrupts the statement of one connection when its time is up.
class Watchdog : public duckdb::ClientContextState {
 public:
  ~Watchdog() override {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  void QueryBegin(duckdb::ClientContext& context) override {
    duckdb::Value value;
    if (!context.TryGetCurrentSetting(kOption, value) || value.IsNull()) return;
    const auto timeout = Parse(value.ToString());
    if (!timeout.ok() || !*timeout) return;
    std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { Watch(); });
    context_ = &context;
    text_ = value.ToString();
    fired_ = false;
    deadline_ = Clock::now() + std::chrono::microseconds(**timeout);
    changed_.notify_all();
  }

  void QueryEnd(duckdb::ClientContext&, duckdb::optional_ptr<duckdb::ErrorData> error) override {
    std::lock_guard lock(mutex_);
    deadline_.reset();
    context_ = nullptr;
    const bool late = std::exchange(fired_, false);
    if (!late || !error || error->Type() != duckdb::ExceptionType::INTERRUPT) return;
    try {
      Throw(MakeError(ErrorKind::kCancelled, "the query was cancelled: it took longer than " +
                                                 std::string(kOption) + " = '" + text_ + "'"));
    } catch (const std::exception& exception) {
      *error = duckdb::ErrorData(exception);
    }
  }

 private:
  void Watch() {
    std::unique_lock lock(mutex_);
    while (!over_) {
      if (!deadline_) {
        changed_.wait(lock);
      } else if (Clock::now() < *deadline_) {
        const auto until = *deadline_;
        changed_.wait_until(lock, until);
      } else {
        // Under the lock: the statement cannot end meanwhile and another begin.
        deadline_.reset();
        fired_ = true;
        context_->Interrupt();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Clock::time_point> deadline_;
  duckdb::ClientContext* context_ = nullptr;
  std::string text_;
  bool fired_ = false;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace

void RegisterStatementTimeout(duckdb::DatabaseInstance& database) {
  duckdb::DBConfig::GetConfig(database).AddExtensionOption(
      kOption, "Longest time of a statement, e.g. 30s; empty: no limit",
      duckdb::LogicalType::VARCHAR, duckdb::Value(""), Check);
}

void ObeyStatementTimeout(duckdb::ClientContext& context) {
  context.registered_state->GetOrCreate<Watchdog>(kState);
}

}  // namespace timelake::sql

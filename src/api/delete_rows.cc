#include "api/delete_rows.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <fmt/format.h>

#include "api/append.h"
#include "base/text.h"
#include "maintain/row_delete.h"
#include "sql/engine.h"
#include "table/rollups.h"
#include "table/table_impl.h"
#include "timelake/table.h"

namespace timelake {

namespace api {

Result<std::optional<DeleteResult>> DeleteRows(table::Handle& handle,
                                               const table::SettingMap& session,
                                               const table::RowDelete& rows) {
  TL_RETURN_NOT_OK(table::CheckNoRollup(handle.name(), *rows.base.metadata, "delete from"));
  return DeleteRefreshed(handle, session, rows);
}

Result<std::optional<DeleteResult>> DeleteRefreshed(table::Handle& handle,
                                                    const table::SettingMap& session,
                                                    const table::RowDelete& rows) {
  TL_ASSIGN_OR_RAISE(const write::Target target,
                     MakeTarget(handle, *rows.base.metadata, session, {}));
  for (const auto& warning : target.settings.warnings)
    handle.env().Log(LogLevel::kWarning, warning);
  table::CommitOptions options;
  options.time_budget_us = target.settings.commit_timeout_us;
  options.cancelled = rows.cancelled;
  return maintain::RunRowDelete(handle, target, rows, options);
}

}  // namespace api

namespace {

// Interrupts a statement once the caller wants it stopped.
class Watch {
 public:
  Watch(sql::Engine& engine, const std::function<bool()>& cancelled) {
    if (!cancelled) return;
    thread_ = std::thread([this, &engine, &cancelled] {
      while (!done_) {
        if (cancelled()) engine.Interrupt();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
  }
  ~Watch() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

std::string Quoted(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string(2, c) : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

arrow::Result<DeleteResult> Table::Delete(std::string_view where, const DeleteOptions& options) {
  if (Trim(where).empty()) {
    return InvalidArgument(
        "table {}: which rows are to be deleted is not said; accepted is a condition in SQL, as "
        "behind WHERE, and \"true\" for all rows",
        name());
  }
  TL_ASSIGN_OR_RAISE(const table::TableName parsed, table::ParseTableName(name()));
  DeleteResult result;
  result.version = version();
  sql::EngineOptions engine_options;
  engine_options.session.name_space = parsed.name_space;
  engine_options.lake = impl_->catalog;
  engine_options.erase = [&](table::Handle& handle, const table::SettingMap& session,
                             const table::RowDelete& rows) -> Result<std::optional<DeleteResult>> {
    TL_ASSIGN_OR_RAISE(const auto done, api::DeleteRows(handle, session, rows));
    if (done) result = *done;
    return done;
  };
  TL_ASSIGN_OR_RAISE(const auto engine, sql::Engine::Make(std::move(engine_options)));
  if (options.dry_run) {
    // A delete takes the rows of a table with dedup so, whatever the settings are.
    TL_ASSIGN_OR_RAISE(const auto contract, table::ReadContract(*impl_->handle->known().metadata));
    if (contract.dedup) TL_RETURN_NOT_OK(engine->Run("SET timelake_read_dedup = true"));
  }
  // On lines of its own: the condition may end with a comment.
  const std::string text =
      fmt::format("{} {} WHERE (\n{}\n)", options.dry_run ? "SELECT count(*) FROM" : "DELETE FROM",
                  Quoted(parsed.table), where);
  const Watch watch(*engine, options.cancelled);
  auto reader = engine->Query(text);
  if (!reader.ok()) return WithContext(reader.status(), "table " + name() + ": delete");
  TL_ASSIGN_OR_RAISE(const auto answer, (*reader)->ToTable());
  if (options.dry_run) {
    TL_ASSIGN_OR_RAISE(const auto rows, answer->column(0)->GetScalar(0));
    TL_ASSIGN_OR_RAISE(result.rows, ParseInt64(rows->ToString()));
  }
  return result;
}

}  // namespace timelake

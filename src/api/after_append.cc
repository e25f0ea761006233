#include "api/after_append.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "api/rollup_due.h"
#include "maintain/compaction.h"
#include "maintain/expiry.h"
#include "maintain/free_versions.h"
#include "maintain/retention.h"
#include "maintain/retention_due.h"
#include "scan/key_range.h"
#include "table/manifests.h"

namespace timelake::api {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

int64_t Later(int64_t time, int64_t by) {
  int64_t sum = 0;
  return __builtin_add_overflow(time, by, &sum) ? (by > 0 ? kHighest : kLowest) : sum;
}

// The partitions that were written to, as a whole, and the one before, which may be cold by now.
std::optional<maintain::TimeWindow> WindowOf(const write::Target& target,
                                             const write::Written& written) {
  if (!target.contract.time_id || !target.contract.chunk) return std::nullopt;
  scan::KeyColumns columns;
  columns.time = iceberg::FindFieldById(target.schema, *target.contract.time_id);
  const int64_t chunk = table::LongestMicros(*target.contract.chunk);
  maintain::TimeWindow window{kHighest, kLowest};
  for (const iceberg::DataFile& file : written.files) {
    const scan::KeyRange range = scan::KeyRangeOf(file, nullptr, columns);
    window.first = std::min(window.first, range.first);
    window.last = std::max(window.last, range.last);
  }
  return maintain::TimeWindow{Later(window.first, -2 * chunk), Later(window.last, chunk)};
}

class After {
 public:
  After(table::Handle& handle, const write::Target& target, const AppendOptions& options)
      : handle_(handle), target_(target), settings_(target.settings), options_(options) {
    commit_.time_budget_us = settings_.commit_timeout_us;
    commit_.cancelled = options.cancelled;
  }

  // As `maintain` does it; each looks at what is there by then.
  Status Merge(const write::Written& written, const table::Version& version, AppendResult* result) {
    write::Target now = target_;
    now.schema = *iceberg::CurrentSchema(*version.metadata);  // others may have added columns since
    TL_ASSIGN_OR_RAISE(now.contract, table::ReadContract(*version.metadata));
    TL_RETURN_NOT_OK(Retain(now, version));
    return Compact(now, written, handle_.known(), result);
  }

  // In batches, so that most appends do not; a bounded number of versions, which leaves no backlog:
  // an append makes few.
  Status Expire() {
    const table::Version newest = handle_.known();
    const int64_t now_ms = handle_.env().clock->NowMicros() / 1000;
    TL_ASSIGN_OR_RAISE(const auto settings, table::ResolveSettings(newest.metadata->properties));
    const auto plan = maintain::PlanExpiry(*newest.metadata, settings, now_ms);
    if (static_cast<int64_t>(plan.expire.size()) < maintain::kExpiryBatch) return Status::OK();
    TL_RETURN_NOT_OK(maintain::RunExpiry(handle_, commit_).status());
    return maintain::RunFree(handle_, 3 * maintain::kExpiryBatch).status();
  }

 private:
  Status Retain(const write::Target& now, const table::Version& version) {
    const table::Contract& contract = now.contract;
    int64_t cutoff = 0;
    if (!contract.time_id || !contract.retention_us ||
        __builtin_sub_overflow(handle_.env().clock->NowMicros(), *contract.retention_us, &cutoff)) {
      return Status::OK();
    }
    TL_ASSIGN_OR_RAISE(
        const auto rows,
        table::ReadRows(handle_.env(), *iceberg::CurrentSnapshot(*version.metadata)));
    if (!maintain::RetentionDue(*rows, *version.metadata, *contract.time_id, cutoff)) {
      return Status::OK();
    }
    maintain::RetentionReport report;
    return maintain::RunRetention(handle_, now, {/*dry_run=*/false, commit_}, &report);
  }

  Status Compact(const write::Target& now, const write::Written& written,
                 const table::Version& version, AppendResult* result) {
    // Who changed the columns meanwhile leaves merging to a later append.
    if (!version || !iceberg::SameFields(now.schema, *iceberg::CurrentSchema(*version.metadata))) {
      return Status::OK();
    }
    maintain::CompactionOptions compaction;
    compaction.tier_files = settings_.compact_min_files;
    compaction.cold_after_us = settings_.compact_cold_after_us;
    compaction.max_bytes =
        std::max<int64_t>(settings_.auto_maintain_bytes, 1);  // 0: no limit there
    compaction.window = WindowOf(target_, written);
    compaction.cancelled = options_.cancelled;
    compaction.commit = commit_;
    maintain::CompactionReport report;
    const Status status = maintain::RunCompaction(handle_, version, now, compaction, &report);
    result->files_merged = report.files_rewritten;
    result->files_written = report.files_written;
    return status;
  }

  table::Handle& handle_;
  const write::Target& target_;
  const table::Settings& settings_;
  const AppendOptions& options_;
  table::CommitOptions commit_;
};

}  // namespace

void MaintainAfter(table::Handle& handle, const write::Target& target,
                   const write::Written& written, const table::Version& version,
                   const AppendOptions& options, AppendResult* result) {
  const table::Settings& settings = target.settings;
  const iceberg::Snapshot* head = iceberg::CurrentSnapshot(*version.metadata);
  if (!settings.auto_maintain || head == nullptr) return;
  // Looking costs reading: so only now and then, whichever process it is that appends then. Not all
  // at once, for no append should take much longer than others.
  const int64_t often = settings.compact_min_files;
  const int64_t place = head->sequence_number % often;
  After after(handle, target, options);
  Status status;
  if (place == 0) status = after.Merge(written, version, result);
  if (place == often / 2 && status.ok()) status = after.Expire();
  if (status.ok()) return;
  result->maintenance_error = MessageOf(status);
  handle.env().Metric("maintain.failed");
  handle.env().Log(LogLevel::kWarning, handle.name() + ": the append is committed, maintenance " +
                                           "after it failed: " + result->maintenance_error);
}

void RefreshAfter(table::Handle& handle, const table::SettingMap& session,
                  const table::Settings& settings, const AppendOptions& options,
                  AppendResult* result) {
  if (!settings.auto_maintain) return;
  RollupRun run;
  run.only_due = true;
  run.max_bytes = std::max<int64_t>(settings.auto_maintain_bytes, 1);  // 0: no limit there
  run.cancelled = options.cancelled;
  RollupsDone done;
  const Status status = RefreshRollupsOf(handle, session, run, &done);
  if (status.ok()) return;
  result->maintenance_error = MessageOf(status);
  handle.env().Metric("rollup.failed");
  handle.env().Log(LogLevel::kWarning, handle.name() +
                                           ": the append is committed, the refresh of " +
                                           "its rollups failed: " + result->maintenance_error);
}

}  // namespace timelake::api

#include "api/after_append.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "maintain/compaction.h"
#include "scan/key_range.h"

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

}  // namespace

void MaintainAfter(table::Handle& handle, const write::Target& target,
                   const write::Written& written, const table::Version& version,
                   const AppendOptions& options, AppendResult* result) {
  const table::Settings& settings = target.settings;
  const iceberg::Snapshot* head = iceberg::CurrentSnapshot(*version.metadata);
  // Looking costs reading: so only now and then, whichever process it is that appends then.
  const bool due = settings.auto_maintain && head != nullptr &&
                   head->sequence_number % settings.compact_min_files == 0;
  if (!due) return;
  maintain::CompactionOptions compaction;
  compaction.tier_files = settings.compact_min_files;
  compaction.cold_after_us = settings.compact_cold_after_us;
  compaction.max_bytes = std::max<int64_t>(settings.auto_maintain_bytes, 1);  // 0: no limit there
  compaction.window = WindowOf(target, written);
  compaction.cancelled = options.cancelled;
  compaction.commit.time_budget_us = settings.commit_timeout_us;
  compaction.commit.cancelled = options.cancelled;
  maintain::CompactionReport report;
  write::Target now = target;
  now.schema = *iceberg::CurrentSchema(*version.metadata);  // others may have added columns since
  Status status;
  if (auto contract = table::ReadContract(*version.metadata); contract.ok()) {
    now.contract = *std::move(contract);
    status = maintain::RunCompaction(handle, version, now, compaction, &report);
  } else {
    status = contract.status();
  }
  result->files_merged = report.files_rewritten;
  result->files_written = report.files_written;
  if (status.ok()) return;
  result->maintenance_error = MessageOf(status);
  handle.env().Metric("maintain.failed");
  handle.env().Log(LogLevel::kWarning, handle.name() + ": the append is committed, maintenance " +
                                           "after it failed: " + result->maintenance_error);
}

}  // namespace timelake::api

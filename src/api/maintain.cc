#include "timelake/maintain.h"

#include <algorithm>
#include <set>

#include "maintain/expiry.h"
#include "maintain/free_versions.h"
#include "table/load.h"
#include "table/table_impl.h"

namespace timelake {
namespace {

std::set<int64_t> SnapshotIds(const iceberg::TableMetadata& metadata) {
  std::set<int64_t> ids;
  for (const auto& snapshot : metadata.snapshots) ids.insert(snapshot.snapshot_id);
  return ids;
}

Status CheckCancelled(const Table& table, const MaintainOptions& options) {
  if (!options.cancelled || !options.cancelled()) return Status::OK();
  return MakeError(ErrorKind::kCancelled, table.name() + ": maintenance cancelled");
}

Status Expire(Table& table, const MaintainOptions& options, MaintainReport* report) {
  table::Handle& handle = *table.impl()->handle;
  TL_ASSIGN_OR_RAISE(const table::Version before, table::LoadNewest(handle));
  TL_ASSIGN_OR_RAISE(const auto settings,
                     table::ResolveSettings(before.metadata->properties,
                                            table.impl()->catalog->session_settings()));
  table::CommitOptions commit;
  commit.time_budget_us = settings.commit_timeout_us;
  commit.cancelled = options.cancelled;
  TL_ASSIGN_OR_RAISE(const auto result, maintain::RunExpiry(handle, commit));
  if (result.committed) {
    const auto kept = SnapshotIds(*result.version.metadata);
    const auto known = SnapshotIds(*before.metadata);
    report->snapshots_expired =
        std::count_if(known.begin(), known.end(), [&](int64_t id) { return !kept.contains(id); });
  }
  TL_RETURN_NOT_OK(CheckCancelled(table, options));
  TL_ASSIGN_OR_RAISE(const auto freed, maintain::RunFree(handle));
  report->versions_freed = freed.versions;
  report->objects_deleted = freed.versions + freed.objects;
  return Status::OK();
}

}  // namespace

arrow::Result<MaintainReport> Maintain(Table& table, const MaintainOptions& options) {
  const table::Env& env = table.impl()->handle->env();
  const int64_t started = env.clock->BootMicros();
  MaintainReport report;
  TL_RETURN_NOT_OK(CheckCancelled(table, options));
  if (options.expire) TL_RETURN_NOT_OK(Expire(table, options, &report));
  report.seconds = static_cast<double>(env.clock->BootMicros() - started) / 1e6;
  return report;
}

}  // namespace timelake

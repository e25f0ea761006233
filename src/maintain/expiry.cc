#include "maintain/expiry.h"

#include <algorithm>

#include "table/batch_ids.h"
#include "table/contract.h"
#include "table/next_metadata.h"

namespace timelake::maintain {
namespace {

using iceberg::Snapshot;
using iceberg::TableMetadata;

std::vector<const Snapshot*> Ancestors(const TableMetadata& metadata) {
  std::vector<const Snapshot*> chain;
  std::set<int64_t> seen;
  const Snapshot* s = iceberg::CurrentSnapshot(metadata);
  while (s != nullptr && seen.insert(s->snapshot_id).second) {
    chain.push_back(s);
    s = s->parent_snapshot_id ? iceberg::SnapshotById(metadata, *s->parent_snapshot_id) : nullptr;
  }
  return chain;  // newest first
}

TableMetadata WithoutSnapshots(const table::Handle& handle, const table::Version& base,
                               const ExpiryPlan& plan) {
  TableMetadata next = table::Following(handle, base);
  std::erase_if(next.snapshots,
                [&](const Snapshot& s) { return !plan.keep.contains(s.snapshot_id); });
  // The log is an unbroken history of main: what lies before the last gap goes with it.
  auto& log = next.snapshot_log;
  auto gap = std::find_if(log.rbegin(), log.rend(), [&](const auto& entry) {
    return !plan.keep.contains(entry.snapshot_id);
  });
  log.erase(log.begin(), gap.base());
  return next;
}

}  // namespace

ExpiryPlan PlanExpiry(const TableMetadata& metadata, const table::Settings& settings,
                      int64_t now_ms) {
  ExpiryPlan plan;
  const int64_t cutoff_ms = now_ms - settings.snapshot_retention_us / 1000;
  std::set<int64_t> pinned;
  for (const auto& [name, ref] : metadata.refs) pinned.insert(ref.snapshot_id);
  if (metadata.current_snapshot_id) pinned.insert(*metadata.current_snapshot_id);
  const auto chain = Ancestors(metadata);
  std::set<int64_t> least, beyond;
  for (size_t i = 0; i < chain.size(); ++i) {
    if (static_cast<int64_t>(i) < settings.min_snapshots) least.insert(chain[i]->snapshot_id);
    if (static_cast<int64_t>(i) >= settings.max_snapshots) beyond.insert(chain[i]->snapshot_id);
  }
  for (const Snapshot& s : metadata.snapshots) {
    const bool young = s.timestamp_ms >= cutoff_ms && !beyond.contains(s.snapshot_id);
    const bool hold = now_ms < settings.keep_snapshots_until_ms;
    if (pinned.contains(s.snapshot_id) || least.contains(s.snapshot_id) || young || hold) {
      plan.keep.insert(s.snapshot_id);
    } else {
      plan.expire.push_back(s.snapshot_id);
    }
  }
  return plan;
}

Result<table::CommitResult> RunExpiry(table::Handle& handle, const table::CommitOptions& options) {
  const table::Env& env = handle.env();
  return table::Commit(
      handle,
      [&](const table::Version& base, const std::set<int64_t>&) -> Result<table::BuildResult> {
        TL_ASSIGN_OR_RAISE(auto settings, table::ResolveSettings(base.metadata->properties));
        const int64_t now_ms = env.clock->NowMicros() / 1000;
        const ExpiryPlan plan = PlanExpiry(*base.metadata, settings, now_ms);
        if (plan.expire.empty()) return table::Settled{};
        table::Attempt attempt;
        attempt.metadata = WithoutSnapshots(handle, base, plan);
        const auto log =
            table::FoldBatchIds(env, *base.metadata, table::ReadBatchIdLog(env, *base.metadata),
                                plan.keep, now_ms - settings.batch_id_retention_us / 1000);
        TL_ASSIGN_OR_RAISE(auto encoded, table::EncodeBatchIdLog(env, handle.folder(), log));
        attempt.metadata.properties.erase(table::kBatchIdLog);
        if (encoded.property) attempt.metadata.properties[table::kBatchIdLog] = *encoded.property;
        if (encoded.object) attempt.objects.push_back(std::move(*encoded.object));
        table::StampCommit(env, &attempt.metadata);
        return attempt;
      },
      options);
}

}  // namespace timelake::maintain

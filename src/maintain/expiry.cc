#include "maintain/expiry.h"

#include <algorithm>
#include <limits>

#include "table/batch_ids.h"
#include "table/contract.h"
#include "table/next_metadata.h"

namespace timelake::maintain {
namespace {

using iceberg::Snapshot;
using iceberg::TableMetadata;

constexpr char kMain[] = "main";

std::vector<const Snapshot*> Ancestors(const TableMetadata& metadata, int64_t head) {
  std::vector<const Snapshot*> chain;
  std::set<int64_t> seen;
  const Snapshot* s = iceberg::SnapshotById(metadata, head);
  while (s != nullptr && seen.insert(s->snapshot_id).second) {
    chain.push_back(s);
    s = s->parent_snapshot_id ? iceberg::SnapshotById(metadata, *s->parent_snapshot_id) : nullptr;
  }
  return chain;  // newest first
}

// What one branch keeps of its ancestors.
struct BranchRule {
  int64_t least = 1;
  int64_t most = std::numeric_limits<int64_t>::max();
  int64_t cutoff_ms = 0;  // snapshots since then stay
};

TableMetadata WithoutSnapshots(const table::Handle& handle, const table::Version& base,
                               const ExpiryPlan& plan) {
  TableMetadata next = table::Following(handle, base);
  std::erase_if(next.snapshots,
                [&](const Snapshot& s) { return !plan.keep.contains(s.snapshot_id); });
  for (const std::string& name : plan.drop_refs) next.refs.erase(name);
  // The log is an unbroken history of main: what lies before the last gap goes with it.
  auto& log = next.snapshot_log;
  auto gap = std::find_if(log.rbegin(), log.rend(), [&](const auto& entry) {
    return !plan.keep.contains(entry.snapshot_id);
  });
  log.erase(log.begin(), gap.base());
  return next;
}

// Snapshots from this time on are young. Of an age of nothing none is, not even one of this
// millisecond or, as times of snapshots grow when many come in one, of the next.
int64_t CutoffMs(int64_t now_ms, int64_t age_ms) {
  return age_ms <= 0 ? std::numeric_limits<int64_t>::max() : now_ms - age_ms;
}

}  // namespace

ExpiryPlan PlanExpiry(const TableMetadata& metadata, const table::Settings& settings,
                      int64_t now_ms) {
  ExpiryPlan plan;
  const int64_t cutoff_ms = CutoffMs(now_ms, settings.snapshot_retention_us / 1000);
  const bool hold = now_ms < settings.keep_snapshots_until_ms;
  std::set<int64_t> of_branches;
  const auto keep_branch = [&](int64_t head, const BranchRule& rule) {
    const auto chain = Ancestors(metadata, head);
    for (size_t i = 0; i < chain.size(); ++i) {
      const auto place = static_cast<int64_t>(i);
      const bool young = chain[i]->timestamp_ms >= rule.cutoff_ms && place < rule.most;
      if (place == 0 || place < rule.least || young) plan.keep.insert(chain[i]->snapshot_id);
      of_branches.insert(chain[i]->snapshot_id);
    }
  };
  const auto rule_of = [&](const std::string& name, const iceberg::SnapshotRef* ref) {
    BranchRule rule;
    rule.cutoff_ms = cutoff_ms;
    if (name == kMain) {
      rule.least = settings.min_snapshots;
      rule.most = settings.max_snapshots;
    }
    if (ref != nullptr && ref->min_snapshots_to_keep) rule.least = *ref->min_snapshots_to_keep;
    if (ref != nullptr && ref->max_snapshot_age_ms) {
      rule.cutoff_ms = CutoffMs(now_ms, *ref->max_snapshot_age_ms);
    }
    return rule;
  };
  if (metadata.current_snapshot_id) {
    const auto ref = metadata.refs.find(kMain);
    keep_branch(*metadata.current_snapshot_id,
                rule_of(kMain, ref == metadata.refs.end() ? nullptr : &ref->second));
  }
  for (const auto& [name, ref] : metadata.refs) {
    const Snapshot* pointed = iceberg::SnapshotById(metadata, ref.snapshot_id);
    const bool old = ref.max_ref_age_ms && pointed != nullptr &&
                     pointed->timestamp_ms < now_ms - *ref.max_ref_age_ms;
    if (old && name != kMain && !hold) {
      plan.drop_refs.insert(name);
    } else if (ref.type == "branch") {
      keep_branch(ref.snapshot_id, rule_of(name, &ref));
    } else {
      plan.keep.insert(ref.snapshot_id);
    }
  }
  for (const Snapshot& s : metadata.snapshots) {
    const bool young = s.timestamp_ms >= cutoff_ms && !of_branches.contains(s.snapshot_id);
    if (hold || young) plan.keep.insert(s.snapshot_id);
    if (!plan.keep.contains(s.snapshot_id)) plan.expire.push_back(s.snapshot_id);
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
        if (plan.expire.empty() && plan.drop_refs.empty()) return table::Settled{};
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

#include "maintain/retention.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "maintain/index_without.h"
#include "maintain/live_files.h"
#include "maintain/retention_plan.h"
#include "table/load.h"
#include "table/rewrite.h"
#include "table/rollup_position.h"

namespace timelake::maintain {
namespace {

// What is past in one version.
struct Past {
  std::unique_ptr<LiveFiles> live;
  RetentionPlan plan;
  int64_t cutoff_us = 0;
};

// nullopt: nothing.
Result<std::optional<Past>> FindPast(const table::Env& env, const table::Version& base,
                                     const write::Target& target, bool each) {
  TL_ASSIGN_OR_RAISE(table::Contract contract, table::ReadContract(*base.metadata));
  if (!each) contract = target.contract;
  if (!contract.is_time_series() || !contract.retention_us) return std::nullopt;
  RetentionRules rules;
  if (__builtin_sub_overflow(env.clock->NowMicros(), *contract.retention_us, &rules.cutoff_us)) {
    return std::nullopt;
  }
  rules.time_id = *contract.time_id;
  rules.dedup = contract.dedup;
  rules.by_ingest = contract.ingest_time_id.has_value();
  Past past;
  past.cutoff_us = rules.cutoff_us;
  TL_ASSIGN_OR_RAISE(past.live, LiveFiles::Read(env, base.metadata, target));
  past.plan = PlanRetention(past.live->files(), *base.metadata, rules, past.live->meet());
  return std::optional<Past>(std::move(past));
}

RetentionReport Describe(const Past& past) {
  RetentionReport report;
  std::map<std::string, DroppedPartition> partitions;
  for (size_t i : past.plan.drop) {
    const scan::ScanFile& file = *past.live->files()[i].file;
    const std::string name = past.live->PartitionText({file.spec_id, file.data->partition});
    DroppedPartition& partition = partitions[name];
    partition.partition = name;
    partition.files += 1;
    partition.bytes += file.data->file_size_in_bytes;
    partition.rows += file.data->record_count;
  }
  for (auto& [name, partition] : partitions) report.partitions.push_back(std::move(partition));
  report.files = static_cast<int64_t>(past.plan.drop.size());
  report.rows = past.plan.rows;
  report.bytes = past.plan.bytes;
  report.held_back = past.plan.held_back;
  return report;
}

table::Rewrite RewriteOf(const table::Handle& handle, std::shared_ptr<Past> past,
                         const table::Contract& contract) {
  table::Rewrite rewrite;
  rewrite.operation = "delete";
  rewrite.summary[table::kRetentionCutoff] = std::to_string(past->cutoff_us);
  std::set<const scan::ScanFile*> gone;
  for (size_t i : past->plan.drop) {
    const scan::ScanFile* file = past->live->files()[i].file;
    gone.insert(file);
    rewrite.removed.insert(file->data->file_path);
  }
  rewrite.removed.merge(past->live->UnneededDeletes(
      [&](const scan::ScanFile& file, const iceberg::DataFile&) { return gone.contains(&file); }));
  rewrite.index = [&handle, past, contract](const table::Version& base, int64_t snapshot_id) {
    return IndexWithout(handle, base, snapshot_id, *past->live, past->plan.drop, contract);
  };
  return rewrite;
}

}  // namespace

Status RunRetention(table::Handle& handle, const write::Target& target,
                    const RetentionOptions& options, RetentionReport* report) {
  const table::Env& env = handle.env();
  if (options.dry_run) {
    TL_ASSIGN_OR_RAISE(const table::Version newest, table::LoadNewest(handle));
    TL_ASSIGN_OR_RAISE(const auto past, FindPast(env, newest, target, true));
    if (past) *report = Describe(*past);
    return Status::OK();
  }
  std::map<int64_t, RetentionReport> attempts;  // by snapshot id
  const auto plan = [&](const table::Version& base,
                        int64_t snapshot_id) -> Result<std::optional<table::Rewrite>> {
    TL_ASSIGN_OR_RAISE(auto found, FindPast(env, base, target, options.checks.each));
    if (!found) return std::nullopt;
    const auto past = std::make_shared<Past>(std::move(*found));
    report->held_back = past->plan.held_back;
    if (past->plan.drop.empty()) return std::nullopt;
    attempts[snapshot_id] = Describe(*past);
    TL_ASSIGN_OR_RAISE(const table::Contract contract, table::ReadContract(*base.metadata));
    table::Rewrite rewrite = RewriteOf(handle, past, contract);
    rewrite.checks = options.checks;
    rewrite.summary.insert(options.summary.begin(), options.summary.end());
    return rewrite;
  };
  TL_ASSIGN_OR_RAISE(const auto committed, table::CommitRewrite(handle, plan, options.commit));
  if (committed.committed) *report = attempts[committed.snapshot_id.value_or(0)];
  return Status::OK();
}

}  // namespace timelake::maintain

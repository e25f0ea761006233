#include "timelake/maintain.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/append.h"
#include "api/rollup_due.h"
#include "maintain/compaction.h"
#include "maintain/expiry.h"
#include "maintain/free_versions.h"
#include "maintain/index_rebuild.h"
#include "maintain/live_files.h"
#include "maintain/manifests.h"
#include "maintain/orphans.h"
#include "maintain/retention.h"
#include "maintain/retention_plan.h"
#include "table/load.h"
#include "table/rollup_properties.h"
#include "table/table_impl.h"

namespace timelake {
namespace {

std::set<int64_t> SnapshotIds(const iceberg::TableMetadata& metadata) {
  std::set<int64_t> ids;
  for (const auto& snapshot : metadata.snapshots) ids.insert(snapshot.snapshot_id);
  return ids;
}

// One run over one table.
class Run {
 public:
  Run(Table& table, const MaintainOptions& options)
      : table_(table),
        handle_(*table.impl()->handle),
        env_(handle_.env()),
        session_(table.impl()->catalog->session_settings()),
        options_(options),
        started_(env_.clock->BootMicros()) {}

  Result<MaintainReport> Do() {
    TL_RETURN_NOT_OK(CheckOptions());
    TL_RETURN_NOT_OK(CheckCancelled());
    const bool whole = options_.shard == 0;  // what concerns the table as a whole
    if (options_.rollups && whole) TL_RETURN_NOT_OK(RefreshRollups());
    if (options_.retention && whole) TL_RETURN_NOT_OK(Retain());
    TL_RETURN_NOT_OK(CheckCancelled());
    if (options_.compact) TL_RETURN_NOT_OK(Compact());
    if (whole) TL_RETURN_NOT_OK(DoOthers());
    report_.seconds = static_cast<double>(env_.clock->BootMicros() - started_) / 1e6;
    return report_;
  }

 private:
  // Tasks after compaction, of shard 0.
  Status DoOthers() {
    if (options_.compact && !options_.dry_run && !TimeIsUp()) TL_RETURN_NOT_OK(RebuildIndex());
    TL_RETURN_NOT_OK(CheckCancelled());
    if (options_.manifests && !TimeIsUp()) TL_RETURN_NOT_OK(ClusterManifests());
    TL_RETURN_NOT_OK(CheckCancelled());
    if (options_.expire) TL_RETURN_NOT_OK(options_.dry_run ? PlanExpiry() : Expire());
    if (options_.orphans && !TimeIsUp()) TL_RETURN_NOT_OK(RemoveOrphans());
    return Status::OK();
  }

  bool TimeIsUp() const { return deadline_ != 0 && env_.clock->BootMicros() >= deadline_; }
  // What tasks may still read of data files; 0: no limit.
  int64_t BytesLeft() const {
    return options_.max_bytes == 0 ? 0 : std::max<int64_t>(1, options_.max_bytes - bytes_read_);
  }

  Status CheckOptions() {
    if (options_.max_bytes < 0) {
      return InvalidArgument("max_bytes {}: accepted is a number of bytes, or 0 for no limit",
                             options_.max_bytes);
    }
    if (!(options_.max_seconds >= 0)) {
      return InvalidArgument("max_seconds {}: accepted is a number of seconds, or 0 for no limit",
                             options_.max_seconds);
    }
    if (options_.max_seconds > 0) {
      deadline_ = started_ + static_cast<int64_t>(std::min(options_.max_seconds, 1e9) * 1e6);
    }
    if (options_.shards < 1 || options_.shard < 0 || options_.shard >= options_.shards) {
      return InvalidArgument(
          "shard {} of {}: accepted is a number of shards from 1, and of them 0 .. shards - 1",
          options_.shard, options_.shards);
    }
    if (options_.orphans) {
      TL_ASSIGN_OR_RAISE(orphan_age_us_,
                         maintain::ParseOrphanAge(options_.orphan_min_age, options_.force));
    }
    return Status::OK();
  }

  Status CheckCancelled() const {
    if (!options_.cancelled || !options_.cancelled()) return Status::OK();
    return MakeError(ErrorKind::kCancelled, handle_.name() + ": maintenance cancelled");
  }

  table::CommitOptions CommitWithin(const table::Settings& settings) const {
    table::CommitOptions commit;
    commit.time_budget_us = settings.commit_timeout_us;
    commit.cancelled = options_.cancelled;
    return commit;
  }

  // The table as it is written, at the version that is the newest now.
  Result<write::Target> Newest(table::Version* base) {
    TL_ASSIGN_OR_RAISE(*base, table::LoadNewest(handle_));
    TL_ASSIGN_OR_RAISE(auto target,
                       api::MakeTarget(handle_, *base->metadata, session_, options_.settings));
    if (!std::exchange(warned_, true)) {
      for (const auto& warning : target.settings.warnings) env_.Log(LogLevel::kWarning, warning);
    }
    return target;
  }

  Status RefreshRollups() {
    TL_RETURN_NOT_OK(table::LoadNewest(handle_).status());
    api::RollupRun run;
    run.dry_run = options_.dry_run;
    run.cancelled = options_.cancelled;
    api::RollupsDone done;
    TL_RETURN_NOT_OK(api::RefreshRollupsOf(handle_, session_, run, &done));
    for (const auto& name : done.behind) {
      report_.planned.push_back({"rollups", "", name + " is behind", 0, 0, 0});
    }
    report_.rollups_refreshed = done.refreshed;
    report_.rollup_rows = done.rows;
    return CheckCancelled();
  }

  Status Retain() {
    table::Version base;
    TL_ASSIGN_OR_RAISE(const write::Target target, Newest(&base));
    if (!target.contract.retention_us) return Status::OK();
    const maintain::RetentionOptions options{options_.dry_run, CommitWithin(target.settings)};
    maintain::RetentionReport done;
    TL_RETURN_NOT_OK(maintain::RunRetention(handle_, target, options, &done));
    for (const auto& partition : done.partitions) {
      report_.planned.push_back({"retention", partition.partition, "past retention",
                                 partition.files, partition.bytes, partition.rows});
    }
    report_.files_held_back = done.held_back;
    if (!options_.dry_run) {
      report_.partitions_dropped = static_cast<int64_t>(done.partitions.size());
      report_.files_dropped = done.files;
      report_.rows_dropped = done.rows;
    }
    // Of a rollup only whole partitions go: where it begins has to be known.
    TL_ASSIGN_OR_RAISE(const auto rollup, table::ReadRollup(*base.metadata));
    return options_.exact && !rollup ? DeletePast(target) : Status::OK();
  }

  // Single rows that are past, of partitions that are not past as a whole.
  Status DeletePast(const write::Target& target) {
    TL_RETURN_NOT_OK(CheckCancelled());
    if (TimeIsUp()) return Status::OK();
    int64_t cutoff = 0;
    if (__builtin_sub_overflow(env_.clock->NowMicros(), *target.contract.retention_us, &cutoff)) {
      return Status::OK();
    }
    if (options_.max_bytes > 0) {
      TL_ASSIGN_OR_RAISE(const table::Version base, table::LoadNewest(handle_));
      TL_ASSIGN_OR_RAISE(const auto live, maintain::LiveFiles::Read(env_, base.metadata, target));
      const auto affordable = maintain::PlanRowCutoff(live->files(), cutoff, BytesLeft());
      cutoff = affordable.cutoff_us;
      bytes_read_ += affordable.bytes;
      report_.bytes_left += affordable.left_bytes;
    }
    const iceberg::Field* time = iceberg::FindFieldById(target.schema, *target.contract.time_id);
    const bool zoned = time->type.id == iceberg::TypeId::kTimestamptz;
    DeleteOptions options;
    options.dry_run = options_.dry_run;
    options.cancelled = options_.cancelled;
    TL_ASSIGN_OR_RAISE(
        const DeleteResult done,
        table_.Delete(fmt::format("\"{}\" < {}({})", Doubled(time->name),
                                  zoned ? "make_timestamptz" : "make_timestamp", cutoff),
                      options));
    if (options_.dry_run) {
      // Rows of past partitions are among them.
      int64_t rows = done.rows;
      for (const MaintainStep& step : report_.planned) rows -= step.rows;
      if (rows > 0) report_.planned.push_back({"retention", "", "rows past retention", 0, 0, rows});
      return Status::OK();
    }
    report_.rows_dropped += done.rows;
    report_.files_dropped += done.files_dropped;
    report_.files_rewritten += done.files_rewritten;
    report_.files_written += done.files_written;
    return Status::OK();
  }

  static std::string Doubled(const std::string& name) {
    std::string text;
    for (const char c : name) text.append(c == '"' ? 2 : 1, c);
    return text;
  }

  Status Compact() {
    table::Version base;
    TL_ASSIGN_OR_RAISE(const write::Target target, Newest(&base));
    maintain::CompactionOptions options;
    options.full = options_.full;
    options.dry_run = options_.dry_run;
    options.max_bytes = BytesLeft();
    options.shard = {options_.shard, options_.shards};
    options.deadline_boot_us = deadline_;
    options.commit = CommitWithin(target.settings);
    options.cancelled = options_.cancelled;
    maintain::CompactionReport done;
    TL_RETURN_NOT_OK(maintain::RunCompaction(handle_, base, target, options, &done));
    for (const auto& merge : done.planned) {
      report_.planned.push_back(
          {"compaction", merge.partition, merge.reason, merge.files, merge.bytes, merge.rows});
    }
    report_.partitions_compacted = done.partitions;
    report_.files_rewritten += done.files_rewritten;
    report_.files_written += done.files_written;
    report_.rows_rewritten = done.rows_rewritten;
    report_.bytes_rewritten = done.bytes_rewritten;
    report_.bytes_written = done.bytes_written;
    report_.duplicates_removed = done.duplicates_removed;
    report_.rows_deleted = done.rows_deleted;
    report_.delete_files_removed = done.delete_files_removed;
    report_.merges_abandoned = done.groups_abandoned;
    report_.merges_left = done.groups_left;
    report_.bytes_left += done.bytes_left;
    bytes_read_ += done.bytes_rewritten;
    return Status::OK();
  }

  Status RebuildIndex() {
    TL_RETURN_NOT_OK(CheckCancelled());
    table::Version base;
    TL_ASSIGN_OR_RAISE(const write::Target target, Newest(&base));
    if (!target.contract.is_time_series()) return Status::OK();
    // It cannot be done in parts, so a run that has read nothing else does it, however large.
    const int64_t limit = bytes_read_ == 0 ? 0 : BytesLeft();
    TL_ASSIGN_OR_RAISE(const auto done, maintain::RunIndexRebuild(handle_, target, limit,
                                                                  CommitWithin(target.settings)));
    report_.index_rebuilt = done.rebuilt;
    report_.bytes_left += done.bytes_left;
    return Status::OK();
  }

  Status ClusterManifests() {
    table::Version base;
    TL_ASSIGN_OR_RAISE(const write::Target target, Newest(&base));
    table::ManifestReport done;
    TL_RETURN_NOT_OK(
        maintain::RunManifests(handle_, options_.dry_run, CommitWithin(target.settings), &done));
    if (done.rewritten > 0) {
      report_.planned.push_back(
          {"manifests", "", "not clustered by time", done.rewritten, done.bytes, 0});
    }
    if (options_.dry_run) return Status::OK();
    report_.manifests_rewritten = done.rewritten;
    report_.manifests_written = done.written;
    return Status::OK();
  }

  Status RemoveOrphans() {
    TL_RETURN_NOT_OK(CheckCancelled());
    table::Version base;
    TL_RETURN_NOT_OK(Newest(&base).status());  // of a table that lies where it says
    maintain::OrphanOptions options;
    options.min_age_us = orphan_age_us_;
    options.dry_run = options_.dry_run;
    options.cancelled = options_.cancelled;
    options.enough = [this] { return TimeIsUp(); };
    maintain::OrphanReport done;
    TL_RETURN_NOT_OK(maintain::RunOrphans(handle_, options, &done));
    if (done.objects > 0) {
      report_.planned.push_back(
          {"orphans", "", "no version refers to them", done.objects, done.bytes, 0});
    }
    report_.orphans_young = done.young;
    if (options_.dry_run) return Status::OK();
    report_.orphans_deleted = done.objects;
    report_.orphan_bytes = done.bytes;
    return Status::OK();
  }

  Status PlanExpiry() {
    TL_ASSIGN_OR_RAISE(const table::Version newest, table::LoadNewest(handle_));
    TL_ASSIGN_OR_RAISE(const auto settings, table::ResolveSettings(newest.metadata->properties));
    const auto plan =
        maintain::PlanExpiry(*newest.metadata, settings, env_.clock->NowMicros() / 1000);
    if (plan.expire.empty()) return Status::OK();
    report_.planned.push_back({"expiry", "", "snapshots that are not kept",
                               static_cast<int64_t>(plan.expire.size()), 0, 0});
    return Status::OK();
  }

  Status Expire() {
    TL_ASSIGN_OR_RAISE(const table::Version before, table::LoadNewest(handle_));
    TL_ASSIGN_OR_RAISE(const auto settings,
                       table::ResolveSettings(before.metadata->properties, session_));
    TL_ASSIGN_OR_RAISE(const auto result, maintain::RunExpiry(handle_, CommitWithin(settings)));
    if (result.committed) {
      const auto kept = SnapshotIds(*result.version.metadata);
      const auto known = SnapshotIds(*before.metadata);
      report_.snapshots_expired =
          std::count_if(known.begin(), known.end(), [&](int64_t id) { return !kept.contains(id); });
    }
    TL_RETURN_NOT_OK(CheckCancelled());
    // Where merging takes all the time of every run, old versions must not pile up.
    const bool late = TimeIsUp();
    TL_ASSIGN_OR_RAISE(const auto freed,
                       maintain::RunFree(handle_, late ? 3 * maintain::kExpiryBatch : 0,
                                         [&] { return !late && TimeIsUp(); }));
    report_.versions_freed = freed.versions;
    report_.objects_deleted = freed.versions + freed.objects;
    return Status::OK();
  }

  Table& table_;
  table::Handle& handle_;
  const table::Env& env_;
  const table::SettingMap& session_;
  const MaintainOptions& options_;
  const int64_t started_;
  MaintainReport report_;
  int64_t orphan_age_us_ = 0;
  int64_t deadline_ = 0;    // boot time; 0: none
  int64_t bytes_read_ = 0;  // of data files, by tasks that max_bytes bounds
  bool warned_ = false;
};

}  // namespace

arrow::Result<MaintainReport> Maintain(Table& table, const MaintainOptions& options) {
  return Run(table, options).Do();
}

}  // namespace timelake

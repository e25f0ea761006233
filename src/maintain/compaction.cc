#include "maintain/compaction.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "iceberg/partition_less.h"
#include "maintain/compaction_commit.h"
#include "maintain/compaction_plan.h"
#include "maintain/granularity.h"
#include "maintain/live_files.h"
#include "maintain/merge_files.h"
#include "maintain/retention_plan.h"
#include "write/sort.h"

namespace timelake::maintain {
namespace {

// Merged files wait for so many bytes of input to be committed together: each commit costs every
// reader and writer a little, and work that is not committed may be in vain.
constexpr int64_t kCommitBytes = int64_t{1} << 30;
constexpr int64_t kCommitMicros = 60'000'000;

class Run {
 public:
  Run(table::Handle& handle, const write::Target& target, const CompactionOptions& options,
      CompactionReport* report)
      : handle_(handle),
        env_(handle.env()),
        target_(target),
        options_(options),
        report_(report),
        commit_(handle, target, options.commit, options.window) {}

  Status Do(const table::Version& base);

 private:
  void Describe(const LiveFiles& live, const CompactionPlan& plan);
  void FindLastUses(const LiveFiles& live, const CompactionPlan& plan);
  bool MayPart(size_t next) const;
  bool TimeIsUp() const {
    return options_.deadline_boot_us != 0 && env_.clock->BootMicros() >= options_.deadline_boot_us;
  }
  int64_t Now(const LiveFiles& live) const;
  std::optional<int64_t> ColdBefore(const LiveFiles& live) const;
  CompactionRules Rules(const LiveFiles& live) const;
  Status Merge(const LiveFiles& live, const CompactionGroup& group);
  Status Commit();

  table::Handle& handle_;
  const table::Env& env_;
  const write::Target& target_;
  const CompactionOptions& options_;
  CompactionReport* report_;
  CompactionCommit commit_;
  std::vector<size_t> last_use_;  // of a group: the last one that shares a delete file with it
  int64_t waiting_bytes_ = 0;
  int64_t waiting_since_ = 0;
  // That something was written to, by spec.
  std::map<int, std::set<std::vector<iceberg::Value>, iceberg::PartitionLess>> partitions_;
};

void Run::Describe(const LiveFiles& live, const CompactionPlan& plan) {
  for (const CompactionGroup& group : plan.groups) {
    report_->planned.push_back({live.PartitionText(group.home),
                                std::string(ReasonText(group.reason)),
                                static_cast<int64_t>(group.files.size()), group.bytes, group.rows});
  }
  report_->groups_left += plan.left_groups;
  report_->bytes_left += plan.left_bytes;
}

// Delete files go when all that they apply to is rewritten, so that belongs into one commit.
void Run::FindLastUses(const LiveFiles& live, const CompactionPlan& plan) {
  std::map<const iceberg::DataFile*, size_t> last;
  const auto each = [&](size_t group, auto&& visit) {
    for (size_t i : plan.groups[group].files) {
      for (const auto& one : live.files()[i].file->position_deletes) visit(one.get());
      for (const auto& one : live.files()[i].file->equality_deletes) visit(one.get());
    }
  };
  for (size_t group = 0; group < plan.groups.size(); ++group) {
    each(group, [&](const iceberg::DataFile* one) { last[one] = group; });
  }
  last_use_.assign(plan.groups.size(), 0);
  for (size_t group = 0; group < plan.groups.size(); ++group) {
    each(group, [&](const iceberg::DataFile* one) {
      last_use_[group] = std::max(last_use_[group], last[one]);
    });
  }
}

// What ages count from. A clock that runs ahead must not make rows old, nor a single row of a far
// year: what is earlier of the clock and the newest row counts.
int64_t Run::Now(const LiveFiles& live) const {
  int64_t newest = std::numeric_limits<int64_t>::min();
  for (const LiveFile& file : live.files()) newest = std::max(newest, file.range.last);
  return std::min(newest, env_.clock->NowMicros());
}

// Partitions that end before this are cold.
std::optional<int64_t> Run::ColdBefore(const LiveFiles& live) const {
  if (!target_.contract.time_id || options_.cold_after_us == table::kNeverCold) return std::nullopt;
  int64_t before = 0;
  if (__builtin_sub_overflow(Now(live), options_.cold_after_us, &before)) return std::nullopt;
  return before;
}

CompactionRules Run::Rules(const LiveFiles& live) const {
  CompactionRules rules;
  rules.dedup = target_.contract.dedup;
  rules.has_order = write::FollowsOrder(target_);
  rules.target_bytes = target_.settings.target_file_size_bytes;
  rules.full = options_.full;
  rules.max_bytes = options_.max_bytes;
  rules.without_buckets = [&live](const Home& home) {
    return WithoutBuckets(home, live.metadata());
  };
  if (options_.tier_files > 0) {
    rules.tier_files = options_.tier_files;
    rules.cold = [&live, before = ColdBefore(live), this](const LiveFile& file) {
      return before && IsPast(file, live.metadata(), *target_.contract.time_id, *before);
    };
    return rules;
  }
  if (target_.contract.time_id && !target_.settings.chunk_tiers.empty()) {
    rules.home = [&live, rules = GranularityRules{target_.settings.chunk_tiers,
                                                  *target_.contract.time_id, Now(live)}](
                     const LiveFile& file) { return HomeOf(file, live.metadata(), rules); };
  }
  return rules;
}

// Whether what is merged before group `next` may be committed without it.
bool Run::MayPart(size_t next) const {
  return std::all_of(last_use_.begin(), last_use_.begin() + static_cast<ptrdiff_t>(next),
                     [&](size_t last) { return last < next; });
}

Status Run::Merge(const LiveFiles& live, const CompactionGroup& group) {
  MergeRequest request;
  request.cancelled = options_.cancelled;
  request.sorted = write::FollowsOrder(target_);
  PendingGroup pending;
  for (size_t i : group.files) {
    const LiveFile& file = live.files()[i];
    request.files.push_back(file.file);
    request.sorted = request.sorted && file.sorted;
    pending.inputs.push_back(*file.file);
  }
  write::Target target = target_;
  target.spec = *iceberg::SpecById(live.metadata(), group.home.spec_id);
  request.partition = group.home.partition;
  pending.max_sequence = group.max_sequence;
  pending.started_boot_us = env_.clock->BootMicros();
  auto merged = MergeFiles(env_, live.metadata(), target, request);
  if (!merged.ok()) {
    return WithContext(merged.status(),
                       fmt::format("table {}: compacting {} files of partition {}", handle_.name(),
                                   request.files.size(), live.PartitionText(group.home)));
  }
  pending.merged = *std::move(merged);
  pending.home = group.home;
  pending.bytes = group.bytes;
  commit_.Add(std::move(pending));
  return Status::OK();
}

Status Run::Commit() {
  waiting_bytes_ = 0;
  TL_ASSIGN_OR_RAISE(const CompactionCommit::Outcome outcome, commit_.Run());
  if (outcome.committed) ++report_->commits;
  report_->groups_abandoned += outcome.abandoned;
  report_->delete_files_removed += outcome.delete_files;
  for (const PendingGroup& group : outcome.groups) {
    partitions_[group.home.spec_id].insert(group.home.partition);
    report_->files_rewritten += static_cast<int64_t>(group.inputs.size());
    report_->files_written += static_cast<int64_t>(group.merged.files.size());
    report_->rows_rewritten += group.merged.rows;
    report_->bytes_rewritten += group.bytes;
    report_->duplicates_removed += group.merged.duplicates;
    report_->rows_deleted += group.merged.deleted;
    for (const auto& stored : group.merged.files) {
      report_->bytes_written += stored.file.file_size_in_bytes;
    }
  }
  report_->partitions = 0;
  for (const auto& [spec_id, partitions] : partitions_) {
    report_->partitions += static_cast<int64_t>(partitions.size());
  }
  return Status::OK();
}

Status Run::Do(const table::Version& base) {
  // Values of a column that the target does not know would be lost.
  if (!iceberg::SameFields(target_.schema, *iceberg::CurrentSchema(*base.metadata))) {
    return InternalError("table {}: its columns are not those that are to be written",
                         handle_.name());
  }
  TL_ASSIGN_OR_RAISE(const auto live,
                     LiveFiles::Read(env_, base.metadata, target_, options_.window));
  CompactionRules rules = Rules(*live);
  if (options_.shard.of > 1) {
    rules.mine = [&](const LiveFile& file) {
      return options_.shard.Has(
          base.metadata->table_uuid,
          live->PartitionText({file.file->spec_id, file.file->data->partition}));
    };
  }
  const CompactionPlan plan = PlanCompaction(live->files(), rules, live->meet());
  Describe(*live, plan);
  if (options_.dry_run) return Status::OK();
  FindLastUses(*live, plan);
  Status first;
  size_t next = 0;
  for (; next < plan.groups.size() && !TimeIsUp(); ++next) {
    const CompactionGroup& group = plan.groups[next];
    const bool enough =
        waiting_bytes_ + group.bytes > kCommitBytes ||
        (waiting_bytes_ > 0 && env_.clock->BootMicros() - waiting_since_ >= kCommitMicros);
    if (waiting_bytes_ > 0 && enough && MayPart(next)) TL_RETURN_NOT_OK(Commit());
    if (waiting_bytes_ == 0) waiting_since_ = env_.clock->BootMicros();
    Status merged = Merge(*live, group);
    if (merged.ok()) {
      waiting_bytes_ += group.bytes;
      continue;
    }
    if (first.ok()) first = merged;
    if (KindOf(merged) == ErrorKind::kCancelled) break;
  }
  for (; first.ok() && next < plan.groups.size(); ++next) {
    ++report_->groups_left;
    report_->bytes_left += plan.groups[next].bytes;
  }
  const auto never = [](const scan::ScanFile&, const iceberg::DataFile&) { return false; };
  const bool unneeded = options_.shard.is_first() && !live->UnneededDeletes(never).empty();
  if (!commit_.empty() || unneeded) TL_RETURN_NOT_OK(Commit());
  return first;
}

}  // namespace

Status RunCompaction(table::Handle& handle, const table::Version& base, const write::Target& target,
                     const CompactionOptions& options, CompactionReport* report) {
  return Run(handle, target, options, report).Do(base);
}

}  // namespace timelake::maintain

#include "sim/processes.h"

#include <algorithm>

#include "base/uuid.h"
#include "maintain/expiry.h"
#include "maintain/free_versions.h"
#include "sim/data_files.h"
#include "table/changes.h"
#include "table/contract.h"
#include "table/load.h"
#include "table/manifests.h"
#include "table/next_metadata.h"
#include "table/reach.h"
#include "table/rollup_properties.h"

namespace timelake::sim {
namespace {

// Whether an error may stand at the end of a call: requests that kept failing, other writers, and a
// table that is not there any more (or not yet).
bool Tolerable(Process& process, const Status& status) {
  switch (KindOf(status)) {
    case ErrorKind::kIo:
    case ErrorKind::kConflict:
    case ErrorKind::kCommitUnknown: return true;
    case ErrorKind::kAlreadyExists:
    case ErrorKind::kNotFound:
      return process.world().ever_dropped() || process.scene().config.racing_creates;
    default: return false;
  }
}

}  // namespace

// Says what is wrong with an error that may not be; a handle of a table that is gone is given up.
void Judge(Process& process, const char* what, const Status& status) {
  if (status.ok()) return;
  process.Note(fmt::format("{}: {}", what, MessageOf(status)));
  if (!Tolerable(process, status)) {
    process.world().Fail(fmt::format("{}: {}", what, status.ToString()));
  }
  if (KindOf(status) == ErrorKind::kNotFound) process.FreshHandle();
}

table::CommitOptions CommitOptionsOf(Process& process) {
  table::CommitOptions options;
  options.min_attempts = process.Maybe(0.3) ? 2 : 10;
  options.time_budget_us = process.Maybe(0.5) ? 0 : 2 * kAgeUs;
  return options;
}

void CheckCommit(Process& process, const char* what, const Result<table::CommitResult>& result) {
  Judge(process, what, result.status());
  if (result.ok() && result->committed) {
    process.Note(fmt::format("{}: v{} acknowledged", what, result->version.number));
    process.world().CheckAcknowledged(*result->version.metadata);
  }
}

namespace {

// A snapshot that a rollback may go to: an ancestor of the head, or a tag's.
std::vector<int64_t> Targets(const iceberg::TableMetadata& metadata) {
  std::vector<int64_t> targets;
  for (const auto& [name, ref] : metadata.refs) {
    if (ref.snapshot_id != metadata.current_snapshot_id) targets.push_back(ref.snapshot_id);
  }
  const auto* s = iceberg::CurrentSnapshot(metadata);
  while (s != nullptr && s->parent_snapshot_id) {
    s = iceberg::SnapshotById(metadata, *s->parent_snapshot_id);
    if (s != nullptr) targets.push_back(s->snapshot_id);
  }
  return targets;
}

Result<table::CommitResult> TagHead(Process& process) {
  return table::Commit(
      process.handle(),
      [&](const table::Version& base, const std::set<int64_t>&) -> Result<table::BuildResult> {
        if (!base.metadata->current_snapshot_id) return table::Settled{};
        table::Attempt attempt;
        attempt.metadata = table::Following(process.handle(), base);
        iceberg::SnapshotRef tag;
        tag.snapshot_id = *base.metadata->current_snapshot_id;
        tag.type = "tag";
        attempt.metadata.refs["kept"] = tag;
        table::StampCommit(process.env(), &attempt.metadata);
        return attempt;
      },
      CommitOptionsOf(process));
}

Result<table::CommitResult> SetProperty(Process& process) {
  const std::string length = std::to_string(1 + process.Below(30));
  return table::CommitProperties(process.handle(),
                                 {{"write.metadata.previous-versions-max", length}},
                                 CommitOptionsOf(process));
}

}  // namespace

Result<table::Version> Load(Process& process) { return Load(process, process.handle()); }

Result<table::Version> Load(Process& process, table::Handle& handle) {
  const int64_t before = process.world().newest();
  auto loaded = table::LoadNewest(handle);
  Judge(process, "load", loaded.status());
  if (loaded.ok()) process.world().CheckLoaded(before, *loaded);
  return loaded;
}

void Expire(Process& process) {
  CheckCommit(process, "expire", maintain::RunExpiry(process.handle(), CommitOptionsOf(process)));
}

void Free(Process& process) {
  process.FreshHandle();
  const int64_t began = process.scene().scheduler.now_us();
  auto report = maintain::RunFree(process.handle());
  if (report.ok()) {
    process.Note(fmt::format("free: {} versions, {} objects", report->versions, report->objects));
    return;
  }
  // A run that slept may find that others have freed what it was about to read.
  const bool slept = process.scene().scheduler.now_us() - began >= kAgeUs / 2;
  if (slept && KindOf(report.status()) == ErrorKind::kNotFound) return;
  Judge(process, "free", report.status());
}

void MaintainerTurn(Process& process) {
  Expire(process);
  Free(process);
}

void ReaderTurn(Process& process) {
  auto loaded = Load(process);
  if (!loaded.ok()) return;
  const table::Env& env = process.env();
  const auto too_late = [&] {
    return env.clock->BootMicros() - loaded->proved_boot_us >= kAgeUs ||
           process.world().dropped() ||
           process.world().metadata()->table_uuid != loaded->metadata->table_uuid;
  };
  const auto missing = [&](const std::string& what) {
    if (too_late()) return;
    process.world().Fail(fmt::format(
        "reader of v{} misses {} after {:.0f} units", loaded->number, what,
        static_cast<double>(env.clock->BootMicros() - loaded->proved_boot_us) / kUnitUs));
  };
  auto reach = table::ReachOf(env, *loaded->metadata, table::Reading::kStrict);
  if (!reach.ok()) {
    if (KindOf(reach.status()) == ErrorKind::kNotFound) return missing(MessageOf(reach.status()));
    return Judge(process, "read", reach.status());
  }
  auto keys = std::move(reach->files);
  keys.insert(reach->manifests.begin(), reach->manifests.end());
  keys.insert(reach->others.begin(), reach->others.end());
  for (const std::string& key : keys) {
    if (process.Maybe(0.2))
      process.clock().SleepMicros(static_cast<int64_t>(process.Below(kAgeUs)));
    auto got = table::Retried(env, [&] { return env.store->Get(key); });
    if (got.ok() && !got->found) return missing(key);
  }
}

void RollerTurn(Process& process) {
  if (process.Maybe(0.4)) return CheckCommit(process, "tag", TagHead(process));
  if (process.Maybe(0.2)) return CheckCommit(process, "set", SetProperty(process));
  auto loaded = Load(process);
  if (!loaded.ok()) return;
  const auto targets = Targets(*loaded->metadata);
  if (targets.empty()) return;
  const int64_t target = targets[process.Below(targets.size())];
  auto result = table::CommitRollback(process.handle(), target, CommitOptionsOf(process));
  const bool expired = !result.ok() && KindOf(result.status()) == ErrorKind::kNotFound;
  if (!expired) CheckCommit(process, "rollback", result);
}

Status Create(Process& process) {
  const auto& config = process.scene().config;
  const table::Env& env = process.env();
  process.FreshHandle();
  TableOptions options = OptionsOf(config.dedup, config.foreign);
  if (config.retainers > 0) options.retention = RetentionOfOneDay();
  TL_ASSIGN_OR_RAISE(
      auto metadata,
      table::NewTableMetadata(TableSchema(), options, process.handle().location(),
                              FormatUuid(NewUuidV4(*env.random)),
                              FormatUuid(NewUuidV4(*env.random)), env.clock->NowMicros() / 1000));
  if (config.refreshers > 0) metadata.properties[table::kRollups] = "default.rollup";
  auto result = table::CommitCreate(process.handle(), metadata, CommitOptionsOf(process));
  if (result.ok() || KindOf(result.status()) != ErrorKind::kAlreadyExists) {
    CheckCommit(process, "create", result);
  }
  return result.status();
}

void DropperTurn(Process& process) {
  auto dropped = table::CommitDrop(process.handle(), CommitOptionsOf(process));
  CheckCommit(process, "drop", dropped);
  (void)Create(process);
}

void CreatorTurn(Process& process) { (void)Create(process); }

}  // namespace timelake::sim

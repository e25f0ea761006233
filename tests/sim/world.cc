#include "sim/world.h"

#include <algorithm>

#include "base/text.h"
#include "iceberg/invariants.h"
#include "sim/data_files.h"
#include "sim/sim_clock.h"
#include "sim/succession.h"
#include "table/batch_ids.h"
#include "table/contract.h"
#include "table/versions.h"

namespace timelake::sim {
namespace {

const std::string kHintKey = std::string(kFolder) + "/metadata/version-hint.text";

std::string_view View(const arrow::Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(buffer.size())};
}

}  // namespace

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRunning: return "cut off";
    case Outcome::kOk: return "ok";
    case Outcome::kFailed: return "failed";
    case Outcome::kUnknown: return "unknown";
    case Outcome::kDuplicate: return "duplicate";
  }
  return "";
}

World::World(const Config& config, Scheduler* scheduler, Trace* trace,
             std::shared_ptr<store::MemoryStore> disk)
    : config_(config),
      scheduler_(scheduler),
      trace_(trace),
      disk_(disk),
      raw_(disk),
      oracle_(config.dedup) {}

void World::Fail(const std::string& what) {
  if (!failure_.empty()) return;
  failure_ = what;
  trace_->Add(static_cast<double>(scheduler_->now_us()) / kUnitUs, "!", what);
  scheduler_->KillAll();
}

std::shared_ptr<arrow::Buffer> World::ObjectBytes(const std::string& key) const {
  auto object = disk_->Find(key);
  return object ? object->bytes : nullptr;
}

bool World::dropped() const { return metadata_ && table::IsDropped(*metadata_); }

std::optional<int64_t> World::hint() const {
  auto bytes = ObjectBytes(kHintKey);
  if (!bytes) return std::nullopt;
  auto number = ParseInt64(View(*bytes));
  return number.ok() ? std::optional(*number) : std::nullopt;
}

std::set<int64_t> World::present() const {
  std::set<int64_t> numbers;
  auto listed = disk_->List(std::string(kFolder) + "/metadata/v");
  for (const auto& info : listed->objects) {
    if (auto number = table::VersionNumber(kFolder, info.key)) numbers.insert(*number);
  }
  return numbers;
}

// --- effects ---

void World::Written(const std::string& key, const std::shared_ptr<arrow::Buffer>& bytes) {
  if (!failure_.empty()) return;
  // Only a put that had no reply is repeated, with the same bytes.
  if (reach_.contains(key) && !written_.at(key)->Equals(*bytes)) {
    return Fail(fmt::format("{} was overwritten, in use by v{}", key, newest_));
  }
  written_[key] = bytes;
  if (auto number = table::VersionNumber(kFolder, key)) {
    VersionWritten(*number, *bytes);
  } else if (key == kHintKey) {
    HintWritten();
  }
}

void World::VersionWritten(int64_t number, const arrow::Buffer& bytes) {
  if (number != newest_ + 1) {
    ++counts_["forks"];
    trace_->Add(static_cast<double>(scheduler_->now_us()) / kUnitUs, "",
                fmt::format("v{} is a fork (newest v{})", number, newest_));
    return;
  }
  auto read = iceberg::ReadMetadata(View(bytes), fmt::format("v{}", number));
  if (!read.ok()) return Fail(read.status().message());
  auto next = std::make_shared<const iceberg::TableMetadata>(std::move(*read));
  const Status status = BecomeReal(number, std::move(next));
  if (!status.ok()) Fail(fmt::format("v{}: {}", number, status.message()));
}

Status World::BecomeReal(int64_t number, MetadataPtr next) {
  TL_RETURN_NOT_OK(iceberg::CheckMetadata(*next));
  ChangeKind kind = ChangeKind::kCreate;
  if (metadata_) {
    TL_RETURN_NOT_OK(iceberg::CheckSuccession(*metadata_, *next));
    TL_ASSIGN_OR_RAISE(kind, KindOfChange(*metadata_, *next));
  }
  ++counts_[std::string(ChangeName(kind))];
  if (kind == ChangeKind::kSnapshot) {
    TL_RETURN_NOT_OK(FollowHead(*next, *iceberg::CurrentSnapshot(*next)));
  }
  std::set<std::string> keys;
  TL_RETURN_NOT_OK(CheckNamed(*next, &keys));
  newest_ = number;
  metadata_ = std::move(next);
  reach_ = std::move(keys);
  ever_.insert(reach_.begin(), reach_.end());
  ever_dropped_ |= dropped();
  const auto key = table::VersionKeyIn(kFolder, number);
  real_[number] = disk_->Find(key)->info.identity;
  if (auto it = metadata_->properties.find(table::kCommitId); it != metadata_->properties.end()) {
    commit_ids_.insert(it->second);
  }
  for (auto& [id, call] : calls_) {
    if (call.outcome != Outcome::kRunning || call.change.batch_id.empty()) continue;
    call.batch_seen |= oracle_.Carries(metadata_->current_snapshot_id, call.change.batch_id);
  }
  return Status::OK();
}

// Which days are past by the retention of a version, on any clock.
Result<Oracle::Past> World::PastOf(const iceberg::TableMetadata& metadata) const {
  TL_ASSIGN_OR_RAISE(const table::Contract contract, table::ReadContract(metadata));
  if (!contract.retention_us) return Oracle::Past{};
  const auto before = [&](int64_t us) {
    return std::max<int64_t>(0, (us - *contract.retention_us - kFirstTimeUs) / (2 * kTimeStepUs)) *
           2;
  };
  const int64_t now_us = kEpochUs + scheduler_->now_us();
  return Oracle::Past{before(now_us + 2 * kMaxWallOffsetUs), before(now_us - 2 * kMaxWallOffsetUs)};
}

// A new snapshot is some call's, and is so once.
Status World::FollowHead(const iceberg::TableMetadata& next, const iceberg::Snapshot& head) {
  auto named = head.summary.find(kCallKey);
  auto it = named == head.summary.end() ? calls_.end() : calls_.find(named->second);
  if (it == calls_.end()) return Corrupt("snapshot {} is nobody's", head.snapshot_id);
  auto& [id, call] = *it;
  if (++call.applied > 1) return Corrupt("append {} applied twice", id);
  if (!call.table_uuid.empty() && call.table_uuid != next.table_uuid) {
    return Corrupt("append {} went into a table that was created later", id);
  }
  const auto& batch_id = call.change.batch_id;
  if (!batch_id.empty() && oracle_.Carries(head.parent_snapshot_id, batch_id)) {
    return Corrupt("batch {} twice among the ancestors", batch_id);
  }
  TL_ASSIGN_OR_RAISE(auto raw, raw_.Read(head));
  if (call.change.past) {
    TL_ASSIGN_OR_RAISE(call.change.past, PastOf(next));
  }
  oracle_.Follow(head.snapshot_id, head.parent_snapshot_id, call.change, *raw);
  const iceberg::Schema& schema = *iceberg::CurrentSchema(next);
  for (const auto& file : call.change.added) {
    for (const Row& row : RowsOf(file)) {
      if (row.column == ValueColumn(schema)) continue;
      return Corrupt("append {} wrote value {} as column {}, which is not `value`", id, row.value,
                     row.column);
    }
  }
  std::set<int> columns;
  for (const auto& field : schema.fields) columns.insert(field.id);
  const std::string wrong = oracle_.Check(head.snapshot_id, *raw, columns);
  if (raw->index) ++counts_["indexes"];
  if (raw->index_in_parts) ++counts_["indexes in parts"];
  return wrong.empty() ? Status::OK() : Corrupt("{}", wrong);
}

// Everything that any snapshot names is there.
Status World::CheckNamed(const iceberg::TableMetadata& metadata, std::set<std::string>* keys) {
  for (const auto& snapshot : metadata.snapshots) {
    auto raw = raw_.Read(snapshot);
    if (!raw.ok()) return Corrupt("names missing objects: {}", raw.status().message());
    keys->insert((*raw)->keys.begin(), (*raw)->keys.end());
  }
  if (auto log = table::BatchIdLogFile(metadata)) {
    TL_ASSIGN_OR_RAISE(std::string key, store::KeyOf(*disk_, *log));
    keys->insert(std::move(key));
  }
  for (const auto& key : *keys) {
    if (!disk_->Find(key)) return Corrupt("names {}, which is missing", key);
  }
  return Status::OK();
}

void World::Deleted(const std::string& key) {
  if (!failure_.empty()) return;
  if (reach_.contains(key)) return Fail(fmt::format("deleted {}, in use by v{}", key, newest_));
  const auto number = table::VersionNumber(kFolder, key);
  if (!number) return;
  if (*number == newest_) return Fail(fmt::format("deleted the newest version, v{}", *number));
  if (hint_promised() && hint() == *number) {
    Fail(fmt::format("the hint names v{}, which was deleted", *number));
  }
}

// The hint is only promised never to go back where compare-and-swap exists and all writers use it.
bool World::hint_promised() const {
  return config_.compare_and_swap && !config_.foreign && !hint_injected_;
}

void World::HintWritten() {
  const auto number = hint();
  if (hint_promised()) {
    if (!number) return Fail("the hint is garbage");
    const auto there = present();
    if (*number < hint_highest_ && there.contains(hint_highest_)) {
      return Fail(fmt::format("the hint went back from v{} to v{}", hint_highest_, *number));
    }
    if (!there.contains(*number)) return Fail(fmt::format("the hint names missing v{}", *number));
  }
  hint_highest_ = std::max(hint_highest_, number.value_or(0));
}

void World::HintInjected() { hint_injected_ = true; }

void World::PowerLost() {
  hint_highest_ = hint().value_or(0);
  if (metadata_ == nullptr) return;
  auto newest = disk_->Find(table::VersionKeyIn(kFolder, newest_));
  if (!newest || newest->info.identity != real_[newest_]) {
    return Fail(fmt::format("the power loss took v{}", newest_));
  }
  for (const auto& key : reach_) {
    auto bytes = ObjectBytes(key);
    if (!bytes || !bytes->Equals(*written_.at(key))) {
      return Fail(
          fmt::format("the power loss {} {}, named by v{}", bytes ? "tore" : "took", key, newest_));
    }
  }
}

// --- calls ---

std::string World::Begin(char kind, const std::string& batch_id, const std::string& table_uuid) {
  const std::string id = fmt::format("{}{}", kind, calls_.size());
  Call& call = calls_[id];
  call.change.batch_id = batch_id;
  call.table_uuid = table_uuid;
  if (metadata_ && !batch_id.empty()) {
    call.batch_seen = oracle_.Carries(metadata_->current_snapshot_id, batch_id);
  }
  return id;
}

void World::SetChange(const std::string& call, Oracle::Change change) {
  calls_.at(call).change = std::move(change);
}

void World::AddFile(const std::string& key, std::vector<Row> rows) {
  oracle_.AddFile(key, std::move(rows));
}

void World::End(const std::string& id, Outcome outcome) {
  Call& call = calls_.at(id);
  call.outcome = outcome;
  if (outcome == Outcome::kOk && call.applied != 1) {
    Fail(fmt::format("{} acknowledged, applied {}x", id, call.applied));
  }
  if (outcome == Outcome::kFailed && call.applied != 0) {
    Fail(fmt::format("{} failed, but is in the table", id));
  }
  if (outcome == Outcome::kDuplicate && call.applied != 0) {
    Fail(fmt::format("{} is called a duplicate of itself", id));
  }
  if (outcome == Outcome::kDuplicate && !call.batch_seen) {
    Fail(fmt::format("{}: false duplicate of {}", id, call.change.batch_id));
  }
}

void World::CheckDuplicate(const std::string& id, int64_t snapshot_id, int64_t rows) {
  if (!oracle_.knows(snapshot_id) || !oracle_.Carries(snapshot_id, calls_.at(id).change.batch_id)) {
    return Fail(
        fmt::format("{}: duplicate of snapshot {}, which does not carry its id", id, snapshot_id));
  }
  if (oracle_.added_rows(snapshot_id) != rows) {
    Fail(fmt::format("{}: duplicate reported {} rows, the first append has {}", id, rows,
                     oracle_.added_rows(snapshot_id)));
  }
}

bool World::IsReal(const table::Version& version) const {
  auto it = real_.find(version.number);
  return it != real_.end() && it->second == version.info.identity;
}

void World::CheckLoaded(int64_t newest_before, const table::Version& loaded) {
  if (loaded.number < newest_before) {
    Fail(fmt::format("load settled on v{}, newest was v{} before it began", loaded.number,
                     newest_before));
  } else if (!IsReal(loaded)) {
    Fail(fmt::format("load settled on a v{} that is a fork", loaded.number));
  }
}

void World::CheckBase(const table::Version& base) {
  if (!IsReal(base)) Fail(fmt::format("a commit builds on a v{} that is a fork", base.number));
}

void World::CheckAcknowledged(const iceberg::TableMetadata& metadata) {
  auto it = metadata.properties.find(table::kCommitId);
  if (it == metadata.properties.end() || commit_ids_.contains(it->second)) return;
  Fail("a commit without a snapshot was acknowledged, but is no real version");
}

void World::CheckEnd() {
  for (const auto& [id, call] : calls_) {
    if (id[0] == 'A') ++counts_[fmt::format("appends: {}", OutcomeName(call.outcome))];
    if (call.outcome == Outcome::kOk && call.applied != 1) {
      Fail(fmt::format("{} acknowledged, applied {}x at the end", id, call.applied));
    }
    if (call.outcome == Outcome::kFailed && call.applied != 0) {
      Fail(fmt::format("{} failed, but is in the table at the end", id));
    }
  }
}

void World::CheckBatchIds(const table::Env& env) {
  const auto carried = oracle_.BatchIds(metadata_->current_snapshot_id);
  for (int i = 0; i < config_.batch_ids; ++i) {
    const std::string id = fmt::format("b{}", i);
    const bool found = table::FindBatchId(env, *metadata_, id).has_value();
    if (found != carried.contains(id)) {
      Fail(fmt::format("batch {} is {} at the end", id,
                       found ? "known, but no ancestor's" : "forgotten"));
    }
  }
}

void World::CheckNoLeak() {
  for (const auto& key : ever_) {
    if (!reach_.contains(key) && disk_->Find(key)) return Fail(fmt::format("leak of {}", key));
  }
}

}  // namespace timelake::sim

#include "sim/foreign.h"

#include <algorithm>

#include "base/text.h"
#include "base/uuid.h"
#include "iceberg/manifest.h"
#include "sim/data_files.h"
#include "table/manifests.h"
#include "table/next_metadata.h"

namespace timelake::sim {
namespace {

constexpr int64_t kKeptVersions = 4;

std::string_view View(const arrow::Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(buffer.size())};
}

}  // namespace

// One commit on its way.
struct Foreign::Planned {
  std::string call;
  Oracle::Change change;
  std::string operation = "append";
  std::vector<store::PutRequest> objects;
  std::vector<iceberg::ManifestFile> rows;
  int64_t snapshot_id = 0;
};

// The newest version, as far as hint and probes tell.
Status Foreign::Look(Process& process) {
  const table::Env& env = process.env();
  TL_ASSIGN_OR_RAISE(
      auto hint, table::Retried(env, [&] { return env.store->Get(process.handle().HintKey()); }));
  int64_t number = known_ ? known_->number : 0;
  if (hint.found) number = std::max(number, ParseInt64(View(*hint.bytes)).ValueOr(0));
  std::optional<table::Version> found;
  if (number > 0) {
    TL_ASSIGN_OR_RAISE(found, table::ReadVersion(env, kFolder, number));
  }
  if (!found) {
    TL_ASSIGN_OR_RAISE(auto listing, table::ListVersions(env, kFolder));
    if (listing.items.empty()) return NotFound("no versions");
    TL_ASSIGN_OR_RAISE(found, table::ReadVersion(env, kFolder, listing.items.back().number));
    if (!found) return NotFound("gone");
  }
  while (true) {
    TL_ASSIGN_OR_RAISE(auto next, table::ReadVersion(env, kFolder, found->number + 1));
    if (!next) break;
    found = std::move(next);
  }
  known_ = std::move(found);
  return Status::OK();
}

// All live entries as one manifest, with a file added to or taken from them.
Result<Foreign::Planned> Foreign::Plan(Process& process) const {
  const table::Env& env = process.env();
  const auto& metadata = *known_->metadata;
  Planned planned;
  planned.snapshot_id = NewSnapshotId(process.random());
  const int64_t sequence_number = metadata.last_sequence_number + 1;
  std::vector<iceberg::ManifestEntry> entries;
  if (const auto* head = iceberg::CurrentSnapshot(metadata)) {
    TL_ASSIGN_OR_RAISE(auto rows, table::ReadRows(env, *head));
    for (const auto& row : *rows) {
      TL_ASSIGN_OR_RAISE(auto manifest, table::ReadEntries(env, row));
      for (const auto& entry : manifest->entries) {
        if (entry.status == iceberg::EntryStatus::kDeleted) continue;
        entries.push_back(entry);
        entries.back().status = iceberg::EntryStatus::kExisting;
      }
    }
  }
  if (entries.size() > 1 && process.Maybe(process.scene().config.foreign_deletes)) {
    auto& entry = entries[process.Below(entries.size())];
    entry.status = iceberg::EntryStatus::kDeleted;
    entry.snapshot_id = planned.snapshot_id;
    TL_ASSIGN_OR_RAISE(std::string key, store::KeyOf(*env.store, entry.file.file_path));
    planned.change.removed.push_back(std::move(key));
    planned.operation = "delete";
  } else {
    const iceberg::Schema& schema = *iceberg::CurrentSchema(metadata);
    if (ValueColumn(schema) == 0) return NotFound("no column value");
    const Row row{static_cast<int64_t>(process.Below(3)), static_cast<int64_t>(process.Below(4)),
                  process.world().NextValue(), ValueColumn(schema)};
    const DataFiles& data = FilesOf({row}, schema);
    iceberg::ManifestEntry entry;
    entry.file = data.files[0].file;
    const std::string key = std::string(kFolder) + "/data/" + entry.file.file_path +
                            FormatUuid(NewUuidV4(process.random())) + ".parquet";
    entry.file.file_path = store::UriOf(*env.store, key);
    entries.push_back(std::move(entry));
    process.world().AddFile(key, data.files[0].rows);
    planned.change.added.push_back(key);
    planned.objects.push_back({key, data.files[0].bytes});
  }
  const iceberg::ManifestHeader header{*iceberg::CurrentSchema(metadata),
                                       *iceberg::DefaultSpec(metadata),
                                       iceberg::ManifestContent::kData, iceberg::kFormatVersion};
  const std::string key =
      fmt::format("{}/metadata/{}-m.avro", kFolder, FormatUuid(NewUuidV4(process.random())));
  TL_ASSIGN_OR_RAISE(auto bytes, iceberg::WriteManifest(header, entries));
  TL_ASSIGN_OR_RAISE(
      auto row, iceberg::DescribeManifest(header, entries, store::UriOf(*env.store, key),
                                          bytes->size(), planned.snapshot_id, sequence_number));
  planned.rows.push_back(std::move(row));
  planned.objects.push_back({key, std::move(bytes)});
  return planned;
}

Status Foreign::Commit(Process& process, Planned planned) {
  const table::Env& env = process.env();
  const auto* head = iceberg::CurrentSnapshot(*known_->metadata);
  auto next = table::Following(process.handle(), *known_);
  iceberg::Snapshot snapshot;
  snapshot.snapshot_id = planned.snapshot_id;
  if (head != nullptr) snapshot.parent_snapshot_id = head->snapshot_id;
  snapshot.sequence_number = next.last_sequence_number + 1;
  snapshot.timestamp_ms = next.last_updated_ms;
  snapshot.schema_id = next.current_schema_id;
  snapshot.summary = {{"operation", planned.operation}, {kCallKey, planned.call}};
  const std::string list_key =
      fmt::format("{}/metadata/snap-{}.avro", kFolder, snapshot.snapshot_id);
  snapshot.manifest_list = store::UriOf(*env.store, list_key);
  TL_ASSIGN_OR_RAISE(
      auto list, iceberg::WriteManifestList(
                     {snapshot.snapshot_id, snapshot.parent_snapshot_id, snapshot.sequence_number},
                     planned.rows));
  planned.objects.push_back({list_key, std::move(list)});
  table::AddSnapshot(&next, std::move(snapshot));
  std::vector<std::string> keys;
  for (const auto& object : planned.objects) keys.push_back(object.key);
  TL_RETURN_NOT_OK(table::Retried(env, [&] { return env.store->PutAll(planned.objects); }));
  TL_RETURN_NOT_OK(table::Retried(env, [&] { return env.store->Sync(keys); }));

  const int64_t number = known_->number + 1;
  const auto bytes = arrow::Buffer::FromString(iceberg::WriteMetadata(next));
  TL_ASSIGN_OR_RAISE(auto put, env.store->PutIfAbsent(table::VersionKeyIn(kFolder, number), bytes));
  if (put.outcome != store::PutOutcome::kCreated) {
    known_.reset();
    return Status::OK();
  }
  known_->number = number;
  known_->metadata = std::make_shared<const iceberg::TableMetadata>(std::move(next));
  known_->info = put.info;
  (void)env.store->Put(process.handle().HintKey(),
                       arrow::Buffer::FromString(std::to_string(number)));
  for (int64_t n = std::max<int64_t>(1, number - kKeptVersions - 3); n < number - kKeptVersions;
       ++n) {
    (void)env.store->Delete(table::VersionKeyIn(kFolder, n));
  }
  return Status::OK();
}

void Foreign::Turn(Process& process) {
  const auto run = [&]() -> Status {
    if (!known_ || process.Maybe(0.5)) TL_RETURN_NOT_OK(Look(process));
    if (table::IsDropped(*known_->metadata)) {
      known_.reset();
      return Status::OK();
    }
    TL_ASSIGN_OR_RAISE(auto planned, Plan(process));
    planned.call = process.world().Begin('F', "", "");
    process.world().SetChange(planned.call, planned.change);
    return Commit(process, std::move(planned));
  };
  const Status status = run();
  if (status.ok()) return;
  process.Note("foreign: " + MessageOf(status));
  known_.reset();
}

}  // namespace timelake::sim

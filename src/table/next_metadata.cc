#include "table/next_metadata.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "base/uuid.h"
#include "table/contract.h"
#include "table/settings.h"
#include "timelake/version.h"

namespace timelake::table {

iceberg::TableMetadata Following(const Handle& handle, const Version& base) {
  const Env& env = handle.env();
  iceberg::TableMetadata next = *base.metadata;
  const int64_t now_ms = env.clock->NowMicros() / 1000;
  next.metadata_log.push_back(
      {base.metadata->last_updated_ms, store::UriOf(*env.store, base.info.key)});
  auto settings = ResolveSettings(next.properties);
  const size_t keep = settings.ok() ? static_cast<size_t>(settings->previous_versions_max) : 20;
  if (next.metadata_log.size() > keep) {
    next.metadata_log.erase(next.metadata_log.begin(), next.metadata_log.end() - keep);
  }
  next.last_updated_ms = std::max(now_ms, base.metadata->last_updated_ms);
  next.properties.erase(kCommitId);
  next.format_version = iceberg::kFormatVersion;
  if (next.table_uuid.empty()) {  // optional in version 1
    next.table_uuid = FormatUuid(NewUuidV7(now_ms, *env.random));
  }
  return next;
}

void MakeCurrent(iceberg::TableMetadata* metadata, int64_t snapshot_id, int64_t timestamp_ms) {
  metadata->current_snapshot_id = snapshot_id;
  iceberg::SnapshotRef& main = metadata->refs["main"];
  main.snapshot_id = snapshot_id;
  main.type = "branch";
  metadata->snapshot_log.push_back({timestamp_ms, snapshot_id});
}

void AddSnapshot(iceberg::TableMetadata* metadata, iceberg::Snapshot snapshot) {
  metadata->last_sequence_number = snapshot.sequence_number;
  const int64_t id = snapshot.snapshot_id;
  const int64_t at = snapshot.timestamp_ms;
  metadata->last_updated_ms = std::max(metadata->last_updated_ms, at);
  metadata->snapshots.push_back(std::move(snapshot));
  MakeCurrent(metadata, id, at);
}

void StampCommit(const Env& env, iceberg::TableMetadata* metadata) {
  metadata->properties[kCommitId] = FormatUuid(NewUuidV4(*env.random));
}

namespace {

struct Total {
  const char* key;
  int64_t delta;
};

std::optional<int64_t> ParentTotal(const iceberg::Snapshot* parent, const char* key) {
  if (parent == nullptr) return 0;
  auto it = parent->summary.find(key);
  if (it == parent->summary.end()) return std::nullopt;
  auto value = ParseInt64(it->second);
  return value.ok() && *value >= 0 ? std::optional<int64_t>(*value) : std::nullopt;
}

}  // namespace

std::map<std::string, std::string> Summarize(const iceberg::Snapshot* parent,
                                             const Change& change) {
  std::map<std::string, std::string> summary;
  summary["operation"] = change.operation;
  summary[kWriter] = std::string("timelake-cpp ") + kVersion;
  const auto put = [&](const char* key, int64_t value) {
    if (value != 0) summary[key] = std::to_string(value);
  };
  put("added-data-files", change.added_files);
  put("added-records", change.added_records);
  put("added-files-size", change.added_bytes);
  put("deleted-data-files", change.deleted_files);
  put("deleted-records", change.deleted_records);
  put("removed-delete-files", change.removed_delete_files);
  put("removed-position-deletes", change.removed_position_deletes);
  put("removed-equality-deletes", change.removed_equality_deletes);
  put("removed-files-size", change.removed_bytes);
  put("changed-partition-count", change.changed_partitions);
  const Total totals[] = {
      {"total-data-files", change.added_files - change.deleted_files},
      {"total-records", change.added_records - change.deleted_records},
      {"total-files-size", change.added_bytes - change.removed_bytes},
      {"total-delete-files", -change.removed_delete_files},
      {"total-position-deletes", -change.removed_position_deletes},
      {"total-equality-deletes", -change.removed_equality_deletes},
  };
  for (const Total& total : totals) {
    auto before = ParentTotal(parent, total.key);
    if (before && *before + total.delta >= 0) {
      summary[total.key] = std::to_string(*before + total.delta);
    }
  }
  return summary;
}

}  // namespace timelake::table

#include "api/info.h"

#include <algorithm>

#include "base/text.h"
#include "index/index_parts.h"
#include "table/contract.h"
#include "table/hint.h"
#include "table/manifests.h"
#include "table/partition_options.h"
#include "table/settings.h"
#include "table/versions.h"

namespace timelake::api {
namespace {

using iceberg::Snapshot;
using iceberg::TableMetadata;

std::string PropertyOr(const TableMetadata& metadata, const char* key, const char* otherwise) {
  auto it = metadata.properties.find(key);
  return it == metadata.properties.end() ? otherwise : it->second;
}

std::optional<int64_t> SummaryNumber(const Snapshot& snapshot, const char* key) {
  auto it = snapshot.summary.find(key);
  if (it == snapshot.summary.end()) return std::nullopt;
  auto value = ParseInt64(it->second);
  return value.ok() ? std::optional<int64_t>(*value) : std::nullopt;
}

// Batch ids since then are certainly known: all of them while every ancestor is kept, else those
// that the log still holds.
int64_t BatchIdHorizon(const TableMetadata& metadata, const table::Env& env) {
  const Snapshot* s = iceberg::CurrentSnapshot(metadata);
  if (s == nullptr) return 0;
  const Snapshot* oldest = s;
  for (size_t i = 0; i <= metadata.snapshots.size(); ++i) {
    oldest = s;
    if (!s->parent_snapshot_id) return 0;
    s = iceberg::SnapshotById(metadata, *s->parent_snapshot_id);
    if (s == nullptr) break;
  }
  if (!metadata.properties.contains(table::kBatchIdLog)) return oldest->timestamp_ms;
  auto settings = table::ResolveSettings(metadata.properties);
  if (!settings.ok()) return oldest->timestamp_ms;
  const int64_t retained = (env.clock->NowMicros() - settings->batch_id_retention_us) / 1000;
  return std::min(oldest->timestamp_ms, retained);
}

// A rewrite by an engine that knows nothing of the order of writes.
bool IsForeignReplace(const Snapshot& snapshot) {
  if (snapshot.operation() != "replace") return false;
  return std::none_of(snapshot.summary.begin(), snapshot.summary.end(),
                      [](const auto& item) { return item.first.starts_with("timelake."); });
}

std::string EngineOf(const Snapshot& snapshot) {
  for (const char* key : {"engine-name", "spark.app.id"}) {
    auto it = snapshot.summary.find(key);
    if (it != snapshot.summary.end()) return it->second;
  }
  return "unknown engine";
}

Status AddTotals(const table::Env& env, const Snapshot& head, TableInfo* info) {
  TL_ASSIGN_OR_RAISE(auto rows, table::ReadRows(env, head));
  info->manifests = static_cast<int64_t>(rows->size());
  const auto bytes = SummaryNumber(head, "total-files-size");
  if (bytes) info->bytes = *bytes;
  for (const auto& row : *rows) {
    const bool counted = row.added_files_count >= 0 && row.existing_files_count >= 0 &&
                         row.added_rows_count >= 0 && row.existing_rows_count >= 0;
    const bool deletes = row.content == iceberg::ManifestContent::kDeletes;
    int64_t& files = deletes ? info->delete_files : info->files;
    if (counted && (bytes || deletes)) {
      files += row.added_files_count + row.existing_files_count;
      if (!deletes) info->rows += row.added_rows_count + row.existing_rows_count;
      continue;
    }
    // Lists of version 1 may lack counts, foreign summaries the size: then the entries tell.
    TL_ASSIGN_OR_RAISE(auto manifest, table::ReadEntries(env, row));
    for (const auto& entry : manifest->entries) {
      if (entry.status == iceberg::EntryStatus::kDeleted) continue;
      ++files;
      if (deletes) continue;
      info->rows += entry.file.record_count;
      if (!bytes) info->bytes += entry.file.file_size_in_bytes;
    }
  }
  return Status::OK();
}

}  // namespace

Result<TableInfo> DescribeTable(const table::Handle& handle, const table::Version& version) {
  const TableMetadata& metadata = *version.metadata;
  const table::Env& env = handle.env();
  TL_ASSIGN_OR_RAISE(auto contract, table::ReadContract(metadata));
  TableInfo info;
  info.name = handle.name();
  info.location = metadata.location;
  info.version = version.number;
  info.table_uuid = metadata.table_uuid;
  info.format_version = PropertyOr(metadata, table::kFormatVersion, "0.1.0");
  info.time_column = contract.time_name;
  info.series_key = contract.key_names;
  if (contract.chunk) info.chunk = table::ChunkName(*contract.chunk);
  const auto* spec = iceberg::SpecById(metadata, metadata.default_spec_id);
  const auto* schema = iceberg::CurrentSchema(metadata);
  if (spec != nullptr && schema != nullptr) {
    info.partition_by = table::PartitionByTexts(*spec, *schema, contract.time_id);
  }
  info.dedup = contract.dedup;
  info.ingest_time_column = contract.ingest_time_name;
  info.retention_us = contract.retention_us;
  info.properties = metadata.properties;
  info.snapshots = static_cast<int64_t>(metadata.snapshots.size());
  info.shared = table::IsShared(metadata);
  info.batch_id_horizon_ms = BatchIdHorizon(metadata, env);
  for (const auto& snapshot : metadata.snapshots) {
    if (!IsForeignReplace(snapshot)) continue;
    info.foreign_snapshots.push_back(std::to_string(snapshot.snapshot_id) + " (" +
                                     EngineOf(snapshot) + ")");
  }
  if (const auto* head = iceberg::CurrentSnapshot(metadata)) {
    TL_RETURN_NOT_OK(AddTotals(env, *head, &info));
    if (const auto parts = index::PartsOf(*head)) info.last_value_index = parts->base;
  }
  auto hint = table::ReadHint(handle);
  if (hint.ok() && hint->version) info.hint_version = *hint->version;
  return info;
}

std::vector<SnapshotInfo> DescribeSnapshots(const TableMetadata& metadata) {
  std::vector<SnapshotInfo> result;
  for (const auto& snapshot : metadata.snapshots) {
    SnapshotInfo info;
    info.snapshot_id = snapshot.snapshot_id;
    info.parent_id = snapshot.parent_snapshot_id;
    info.sequence_number = snapshot.sequence_number;
    info.timestamp_ms = snapshot.timestamp_ms;
    info.operation = snapshot.operation();
    info.current = metadata.current_snapshot_id == snapshot.snapshot_id;
    info.summary = snapshot.summary;
    result.push_back(std::move(info));
  }
  return result;
}

namespace {

std::optional<int64_t> TimeBound(const std::map<int, std::string>& bounds,
                                 const iceberg::Field* time) {
  if (time == nullptr) return std::nullopt;
  auto it = bounds.find(time->id);
  if (it == bounds.end()) return std::nullopt;
  auto value = iceberg::FromBytes(time->type, it->second);
  if (!value.ok()) return std::nullopt;
  const auto* micros = std::get_if<int64_t>(&*value);
  return micros ? std::optional<int64_t>(*micros) : std::nullopt;
}

std::string_view ContentName(iceberg::FileContent content) {
  switch (content) {
    case iceberg::FileContent::kData: return "data";
    case iceberg::FileContent::kPositionDeletes: return "position-deletes";
    case iceberg::FileContent::kEqualityDeletes: return "equality-deletes";
  }
  return "unknown";
}

}  // namespace

Result<std::vector<FileInfo>> DescribeFiles(const table::Env& env, const TableMetadata& metadata) {
  std::vector<FileInfo> result;
  const auto* head = iceberg::CurrentSnapshot(metadata);
  if (head == nullptr) return result;
  TL_ASSIGN_OR_RAISE(auto contract, table::ReadContract(metadata));
  const iceberg::Schema& schema = *iceberg::CurrentSchema(metadata);
  const iceberg::Field* time =
      contract.time_id ? iceberg::FindFieldById(schema, *contract.time_id) : nullptr;
  TL_ASSIGN_OR_RAISE(auto rows, table::ReadRows(env, *head));
  for (const auto& row : *rows) {
    TL_ASSIGN_OR_RAISE(auto manifest, table::ReadEntries(env, row));
    for (const auto& entry : manifest->entries) {
      if (entry.status == iceberg::EntryStatus::kDeleted) continue;
      FileInfo info;
      info.path = entry.file.file_path;
      info.content = ContentName(entry.file.content);
      auto path = iceberg::PartitionPath(manifest->header.spec, schema, entry.file.partition);
      if (path.ok()) info.partition = *path;
      info.rows = entry.file.record_count;
      info.bytes = entry.file.file_size_in_bytes;
      info.sequence_number = entry.sequence_number.value_or(0);
      info.min_time_us = TimeBound(entry.file.lower_bounds, time);
      info.max_time_us = TimeBound(entry.file.upper_bounds, time);
      result.push_back(std::move(info));
    }
  }
  std::sort(result.begin(), result.end(),
            [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; });
  return result;
}

}  // namespace timelake::api

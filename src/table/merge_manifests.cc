#include "table/merge_manifests.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/uuid.h"
#include "table/settings.h"

namespace timelake::table {
namespace {

constexpr size_t kMaxSmallManifests = 8;

// The rows [begin, end) of one spec and content as one manifest of existing entries.
Result<iceberg::ManifestFile> MergeGroup(const Handle& handle,
                                         const std::vector<const iceberg::ManifestFile*>& group,
                                         int64_t snapshot_id, int64_t sequence_number,
                                         std::vector<store::PutRequest>* objects) {
  const Env& env = handle.env();
  iceberg::ManifestHeader header;
  std::vector<iceberg::ManifestEntry> entries;
  for (const auto* row : group) {
    TL_ASSIGN_OR_RAISE(auto manifest, ReadEntries(env, *row));
    header = manifest->header;  // the newest schema of the group: rows are in commit order
    for (const auto& entry : manifest->entries) {
      if (entry.status == iceberg::EntryStatus::kDeleted) continue;
      entries.push_back(entry);
      entries.back().status = iceberg::EntryStatus::kExisting;
    }
  }
  header.format_version = iceberg::kFormatVersion;
  header.content = group.front()->content;
  TL_ASSIGN_OR_RAISE(auto bytes, iceberg::WriteManifest(header, entries));
  const std::string key = fmt::format("{}/metadata/{}-merged-m.avro", handle.folder(),
                                      FormatUuid(NewUuidV4(*env.random)));
  TL_ASSIGN_OR_RAISE(auto row, iceberg::DescribeManifest(header, entries,
                                                         store::UriOf(*env.store, key),
                                                         bytes->size(), snapshot_id,
                                                         sequence_number));
  objects->push_back({key, std::move(bytes)});
  return row;
}

// Lists of format version 1 may leave counts out; a list that we write has them all.
Status Recount(const Env& env, iceberg::ManifestFile* row) {
  const int64_t least = std::min({row->added_files_count, row->existing_files_count,
                                  row->deleted_files_count, row->added_rows_count,
                                  row->existing_rows_count, row->deleted_rows_count});
  if (least >= 0) return Status::OK();
  TL_ASSIGN_OR_RAISE(auto manifest, ReadEntries(env, *row));
  TL_ASSIGN_OR_RAISE(auto counted,
                     iceberg::DescribeManifest(manifest->header, manifest->entries,
                                               row->manifest_path, row->manifest_length,
                                               row->added_snapshot_id, row->sequence_number));
  counted.min_sequence_number = row->min_sequence_number;
  *row = std::move(counted);
  return Status::OK();
}

bool HasLiveFiles(const iceberg::ManifestFile& row) {
  return row.added_files_count != 0 || row.existing_files_count != 0;
}

}  // namespace

Result<MergedManifests> MergeSmallManifests(const Handle& handle,
                                            const iceberg::TableMetadata& metadata,
                                            ManifestRows rows, int64_t snapshot_id,
                                            int64_t sequence_number) {
  TL_ASSIGN_OR_RAISE(Settings settings, ResolveSettings(metadata.properties));
  for (auto& row : rows) TL_RETURN_NOT_OK(Recount(handle.env(), &row));
  std::erase_if(rows, [](const auto& row) { return !HasLiveFiles(row); });
  std::map<std::pair<int, int>, std::vector<const iceberg::ManifestFile*>> groups;
  for (const auto& row : rows) {
    if (row.manifest_length >= settings.manifest_target_bytes) continue;
    groups[{row.partition_spec_id, static_cast<int>(row.content)}].push_back(&row);
  }
  MergedManifests result;
  std::map<std::string, bool> merged;  // path -> its place is taken by the merged row
  std::map<std::string, iceberg::ManifestFile> first_of;
  for (const auto& [key, group] : groups) {
    if (group.size() < kMaxSmallManifests) continue;  // the append adds one more
    TL_ASSIGN_OR_RAISE(auto row, MergeGroup(handle, group, snapshot_id, sequence_number,
                                            &result.objects));
    for (const auto* old : group) merged[old->manifest_path] = true;
    first_of[group.front()->manifest_path] = std::move(row);
  }
  for (auto& row : rows) {
    if (auto it = first_of.find(row.manifest_path); it != first_of.end()) {
      result.rows.push_back(it->second);
    } else if (!merged.contains(row.manifest_path)) {
      result.rows.push_back(std::move(row));
    }
  }
  return result;
}

}  // namespace timelake::table

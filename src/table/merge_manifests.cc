#include "table/merge_manifests.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/uuid.h"
#include "table/settings.h"

namespace timelake::table {
namespace {

constexpr size_t kMaxSmallManifests = 8;
// A manifest of so many times the files of all that come after it is not merged with them: so each
// entry is written a few times only, however many appends follow, and an append to a large table
// costs what one to a new table does.
constexpr int64_t kMuchLarger = 6;

int64_t LiveFilesOf(const iceberg::ManifestFile& row) {
  return row.added_files_count + row.existing_files_count;
}

// How many of the newest are merged, of small manifests that are too many.
size_t NewestToMerge(const ManifestRows& rows, const std::vector<size_t>& small) {
  // With the merged one, and the one that the commit adds, there are no more than may be.
  size_t count = small.size() - (kMaxSmallManifests - 2);
  int64_t files = 0;
  for (size_t i = small.size() - count; i < small.size(); ++i) files += LiveFilesOf(rows[small[i]]);
  while (count < small.size()) {
    const int64_t next = LiveFilesOf(rows[small[small.size() - count - 1]]);
    if (next >= kMuchLarger * files) break;
    files += next;
    ++count;
  }
  return count;
}

// These manifests, as they lie in the list, as one manifest of existing entries.
Result<iceberg::ManifestFile> MergeGroup(const Handle& handle, const ManifestRows& rows,
                                         const std::vector<size_t>& group, int64_t snapshot_id,
                                         int64_t sequence_number,
                                         std::vector<store::PutRequest>* objects) {
  const Env& env = handle.env();
  iceberg::ManifestHeader header;
  std::vector<iceberg::ManifestEntry> entries;
  for (const size_t i : group) {
    TL_ASSIGN_OR_RAISE(auto manifest, ReadEntries(env, rows[i]));
    header = manifest->header;  // the newest schema of the group: rows are in commit order
    for (const auto& entry : manifest->entries) {
      if (entry.status == iceberg::EntryStatus::kDeleted) continue;
      entries.push_back(entry);
      entries.back().status = iceberg::EntryStatus::kExisting;
    }
  }
  header.format_version = iceberg::kFormatVersion;
  header.content = rows[group.front()].content;
  TL_ASSIGN_OR_RAISE(auto bytes, iceberg::WriteManifest(header, entries));
  const std::string key = fmt::format("{}/metadata/{}-merged-m.avro", handle.folder(),
                                      FormatUuid(NewUuidV4(*env.random)));
  TL_ASSIGN_OR_RAISE(auto row,
                     iceberg::DescribeManifest(header, entries, store::UriOf(*env.store, key),
                                               bytes->size(), snapshot_id, sequence_number));
  objects->push_back({key, std::move(bytes)});
  RememberEntries(env, row, {std::move(header), std::move(entries)});
  return row;
}

// Lists of format version 1 may leave counts out; a list that we write has them all.
Status Recount(const Env& env, iceberg::ManifestFile* row) {
  const int64_t least =
      std::min({row->added_files_count, row->existing_files_count, row->deleted_files_count,
                row->added_rows_count, row->existing_rows_count, row->deleted_rows_count});
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

}  // namespace

std::vector<std::vector<size_t>> PlanManifestMerges(const ManifestRows& rows,
                                                    int64_t target_bytes) {
  std::map<std::pair<int, int>, std::vector<size_t>> small;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].manifest_length >= target_bytes) continue;
    small[{rows[i].partition_spec_id, static_cast<int>(rows[i].content)}].push_back(i);
  }
  std::vector<std::vector<size_t>> merges;
  for (const auto& [key, group] : small) {
    if (group.size() < kMaxSmallManifests) continue;  // the commit adds one more
    std::vector<size_t> merge;
    int64_t bytes = 0;
    for (size_t i = group.size() - NewestToMerge(rows, group); i < group.size(); ++i) {
      merge.push_back(group[i]);
      bytes += rows[group[i]].manifest_length;
      if (bytes < target_bytes) continue;
      merges.push_back(std::exchange(merge, {}));
      bytes = 0;
    }
    if (merge.size() > 1) merges.push_back(std::move(merge));
  }
  return merges;
}

Result<MergedManifests> MergeSmallManifests(const Handle& handle,
                                            const iceberg::TableMetadata& metadata,
                                            ManifestRows rows, int64_t snapshot_id,
                                            int64_t sequence_number) {
  TL_ASSIGN_OR_RAISE(Settings settings, ResolveSettings(metadata.properties));
  for (auto& row : rows) TL_RETURN_NOT_OK(Recount(handle.env(), &row));
  std::erase_if(rows, [](const auto& row) { return LiveFilesOf(row) == 0; });
  MergedManifests result;
  std::set<size_t> gone;
  for (const auto& group : PlanManifestMerges(rows, settings.manifest_target_bytes)) {
    TL_ASSIGN_OR_RAISE(
        auto row, MergeGroup(handle, rows, group, snapshot_id, sequence_number, &result.objects));
    gone.insert(group.begin() + 1, group.end());
    rows[group.front()] = std::move(row);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!gone.contains(i)) result.rows.push_back(std::move(rows[i]));
  }
  return result;
}

}  // namespace timelake::table

#include "table/rewrite.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "base/uuid.h"
#include "iceberg/partition_less.h"
#include "table/manifests.h"
#include "table/merge_manifests.h"
#include "table/next_metadata.h"
#include "table/settings.h"

namespace timelake::table {
namespace {

using iceberg::EntryStatus;
using iceberg::FileContent;
using iceberg::ManifestContent;
using iceberg::ManifestEntry;
using iceberg::ManifestFile;

bool IsLive(const ManifestEntry& entry) { return entry.status != EntryStatus::kDeleted; }

// Files of one spec and content that go into one manifest.
struct Group {
  iceberg::ManifestHeader header;
  std::vector<ManifestEntry> entries;
  int64_t bytes = 0;  // of the manifests that they come from
};

// One attempt: the manifests of `base` with the files taken out, and those of the new files.
class RewriteBuilder {
 public:
  RewriteBuilder(const Handle& handle, const Version& base, SnapshotAttempt begun,
                 const Rewrite& rewrite)
      : handle_(handle),
        env_(handle.env()),
        metadata_(*base.metadata),
        rewrite_(rewrite),
        begun_(std::move(begun)) {}

  Result<Attempt> Build(const Version& base, bool sync);

 private:
  Status TakeOut(ManifestRows rows);
  Status Touch(const ManifestFile& row, const iceberg::Manifest& manifest);
  Status Add();
  Status Write(const Group& group, const char* kind);
  void CountRemoved(const iceberg::DataFile& file, int spec_id);
  void CountPartition(const iceberg::DataFile& file, int spec_id) {
    if (partitions_[spec_id].insert(file.partition).second) ++change_.changed_partitions;
  }

  const Handle& handle_;
  const Env& env_;
  const iceberg::TableMetadata& metadata_;
  const Rewrite& rewrite_;
  SnapshotAttempt begun_;
  int64_t manifest_target_bytes_ = 0;
  Change change_;
  std::map<int, std::set<std::vector<iceberg::Value>, iceberg::PartitionLess>> partitions_;
  std::map<std::pair<int, ManifestContent>, Group> touched_;
  ManifestRows rows_;
};

Status RewriteBuilder::Write(const Group& group, const char* kind) {
  TL_ASSIGN_OR_RAISE(auto bytes, iceberg::WriteManifest(group.header, group.entries));
  const std::string key = fmt::format("{}/metadata/{}-{}-m.avro", handle_.folder(),
                                      FormatUuid(NewUuidV4(*env_.random)), kind);
  TL_ASSIGN_OR_RAISE(rows_.emplace_back(),
                     iceberg::DescribeManifest(
                         group.header, group.entries, store::UriOf(*env_.store, key), bytes->size(),
                         begun_.snapshot.snapshot_id, begun_.snapshot.sequence_number));
  begun_.attempt.objects.push_back({key, std::move(bytes)});
  return Status::OK();
}

void RewriteBuilder::CountRemoved(const iceberg::DataFile& file, int spec_id) {
  change_.removed_bytes += file.file_size_in_bytes;
  CountPartition(file, spec_id);
  switch (file.content) {
    case FileContent::kData:
      change_.deleted_files += 1;
      change_.deleted_records += file.record_count;
      break;
    case FileContent::kPositionDeletes:
      change_.removed_delete_files += 1;
      change_.removed_position_deletes += file.record_count;
      break;
    case FileContent::kEqualityDeletes:
      change_.removed_delete_files += 1;
      change_.removed_equality_deletes += file.record_count;
      break;
  }
}

// The entries of a manifest that names a removed file. Entries that an earlier snapshot deleted are
// history of that snapshot and go.
Status RewriteBuilder::Touch(const ManifestFile& row, const iceberg::Manifest& manifest) {
  Group& group = touched_[{row.partition_spec_id, row.content}];
  if (group.bytes > 0 && group.bytes + row.manifest_length > manifest_target_bytes_) {
    TL_RETURN_NOT_OK(Write(group, "deleted"));
    group = {};
  }
  group.header = manifest.header;
  group.header.format_version = iceberg::kFormatVersion;
  group.header.content = row.content;
  group.header.spec.spec_id = row.partition_spec_id;
  group.bytes += row.manifest_length;
  for (const ManifestEntry& entry : manifest.entries) {
    if (!IsLive(entry)) continue;
    ManifestEntry& kept = group.entries.emplace_back(entry);
    kept.status = EntryStatus::kExisting;
    if (!rewrite_.removed.contains(entry.file.file_path)) continue;
    kept.status = EntryStatus::kDeleted;
    kept.snapshot_id = begun_.snapshot.snapshot_id;
    CountRemoved(entry.file, row.partition_spec_id);
  }
  return Status::OK();
}

Status RewriteBuilder::TakeOut(ManifestRows rows) {
  // The youngest first: what is rewritten most often is young, and once all is found the older ones
  // need not be read.
  std::vector<std::pair<ManifestFile, std::shared_ptr<const iceberg::Manifest>>> touched;
  ManifestRows untouched;
  std::set<std::string> missing = rewrite_.removed;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    if (row->added_files_count == 0 && row->existing_files_count == 0) continue;
    std::shared_ptr<const iceberg::Manifest> manifest;
    bool found = false;
    if (!missing.empty()) {
      TL_ASSIGN_OR_RAISE(manifest, ReadEntries(env_, *row));
      for (const ManifestEntry& entry : manifest->entries) {
        found = (IsLive(entry) && missing.erase(entry.file.file_path) > 0) || found;
      }
    }
    if (found) {
      touched.emplace_back(std::move(*row), std::move(manifest));
    } else {
      untouched.push_back(std::move(*row));
    }
  }
  std::reverse(untouched.begin(), untouched.end());
  std::reverse(touched.begin(), touched.end());
  for (const auto& [row, manifest] : touched) TL_RETURN_NOT_OK(Touch(row, *manifest));
  if (!missing.empty() && rewrite_.checks.there) {
    return Conflict("table {}: {} is no longer a file of the table", handle_.name(),
                    *missing.begin());
  }
  TL_ASSIGN_OR_RAISE(auto merged, MergeSmallManifests(handle_, metadata_, std::move(untouched),
                                                      begun_.snapshot.snapshot_id,
                                                      begun_.snapshot.sequence_number));
  for (auto& object : merged.objects) begun_.attempt.objects.push_back(std::move(object));
  // Those that are written anew come last, as the youngest.
  ManifestRows written = std::exchange(rows_, std::move(merged.rows));
  rows_.insert(rows_.end(), written.begin(), written.end());
  for (const auto& [key, group] : touched_) TL_RETURN_NOT_OK(Write(group, "deleted"));
  return Status::OK();
}

Status RewriteBuilder::Add() {
  std::map<int, Group> added;
  for (const RewrittenFile& one : rewrite_.added) {
    const iceberg::PartitionSpec* spec = iceberg::SpecById(metadata_, one.spec_id);
    if (spec == nullptr) {
      return Conflict("table {}: partition spec {} was removed while its files were rewritten",
                      handle_.name(), one.spec_id);
    }
    if (one.sequence_number && *one.sequence_number > metadata_.last_sequence_number) {
      return InternalError("table {}: {} with sequence number {} above the table's {}",
                           handle_.name(), one.file.file_path, *one.sequence_number,
                           metadata_.last_sequence_number);
    }
    Group& group = added[one.spec_id];
    group.header = {*iceberg::CurrentSchema(metadata_), *spec, ManifestContent::kData,
                    iceberg::kFormatVersion};
    ManifestEntry& entry = group.entries.emplace_back();
    entry.status = EntryStatus::kAdded;
    entry.sequence_number = one.sequence_number;
    entry.file = one.file;
    change_.added_files += 1;
    change_.added_records += one.file.record_count;
    change_.added_bytes += one.file.file_size_in_bytes;
    CountPartition(one.file, one.spec_id);
  }
  for (const auto& [spec_id, group] : added) TL_RETURN_NOT_OK(Write(group, "added"));
  return Status::OK();
}

Result<Attempt> RewriteBuilder::Build(const Version& base, bool sync) {
  TL_ASSIGN_OR_RAISE(const Settings settings, ResolveSettings(metadata_.properties));
  manifest_target_bytes_ = settings.manifest_target_bytes;
  const iceberg::Snapshot* head = iceberg::CurrentSnapshot(metadata_);
  ManifestRows before;
  if (head != nullptr) {
    TL_ASSIGN_OR_RAISE(auto rows, ReadRows(env_, *head));
    before = *rows;
  }
  TL_RETURN_NOT_OK(TakeOut(std::move(before)));
  TL_RETURN_NOT_OK(Add());
  if (sync) begun_.attempt.sync_too = rewrite_.added_keys;
  change_.operation = rewrite_.operation;
  begun_.snapshot.summary = Summarize(head, change_);
  for (const auto& [key, value] : rewrite_.summary) begun_.snapshot.summary.emplace(key, value);
  return FinishSnapshot(handle_, base, std::move(begun_), std::move(rows_), rewrite_.index);
}

}  // namespace

Result<CommitResult> CommitRewrite(Handle& handle, const RewriteFn& plan,
                                   const CommitOptions& options) {
  return Commit(
      handle,
      [&](const Version& base, const std::set<int64_t>& created) -> Result<BuildResult> {
        SnapshotAttempt begun = BeginSnapshot(handle, base);
        TL_ASSIGN_OR_RAISE(const std::optional<Rewrite> rewrite,
                           plan(base, begun.snapshot.snapshot_id));
        if (!rewrite) return Settled{};
        if (!rewrite->added.empty()) {
          TL_RETURN_NOT_OK(CheckDataAge(handle, rewrite->started_boot_us));
        }
        // Once an attempt has been sent, an earlier one has synced the files.
        RewriteBuilder builder(handle, base, std::move(begun), *rewrite);
        TL_ASSIGN_OR_RAISE(Attempt attempt, builder.Build(base, created.empty()));
        return attempt;
      },
      options);
}

}  // namespace timelake::table

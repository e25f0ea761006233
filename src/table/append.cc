#include "table/append.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/uuid.h"
#include "table/batch_ids.h"
#include "table/changes.h"
#include "table/manifests.h"
#include "table/merge_manifests.h"
#include "table/next_metadata.h"

namespace timelake::table {
namespace {

class AppendBuilder {
 public:
  AppendBuilder(Handle& handle, const AppendRequest& request)
      : handle_(handle), env_(handle.env()), request_(request) {}

  Result<BuildResult> Build(const Version& newest, const std::set<int64_t>& created);

  // Objects of this call that no attempt owns: the manifest of the new files.
  const std::vector<std::string>& own_keys() const { return own_keys_; }
  // Columns that the last attempt adds.
  const std::vector<std::string>& added_columns() const { return added_columns_; }

 private:
  Status WriteAddedManifest(const iceberg::TableMetadata& metadata);
  Result<ManifestRows> NewRows(const Version& base, const iceberg::Snapshot& snapshot,
                               Attempt* attempt);
  Change Changes() const;

  Handle& handle_;
  const Env& env_;
  const AppendRequest& request_;
  bool checked_batch_id_ = false;
  bool fitted_once_ = false;
  // The manifest of the new files: written once, since its entries inherit snapshot id and
  // sequence number from the manifest list of whichever attempt wins.
  std::optional<iceberg::ManifestHeader> header_;
  std::vector<iceberg::ManifestEntry> entries_;
  std::string manifest_key_;
  int64_t manifest_length_ = 0;
  bool stored_ = false;
  std::vector<std::string> own_keys_;
  std::vector<std::string> added_columns_;
};

Status AppendBuilder::WriteAddedManifest(const iceberg::TableMetadata& metadata) {
  const iceberg::PartitionSpec* spec = iceberg::SpecById(metadata, request_.spec_id);
  if (spec == nullptr) {
    return Conflict("table {}: partition spec {} was removed while the rows were written",
                    handle_.name(), request_.spec_id);
  }
  header_ = iceberg::ManifestHeader{*iceberg::CurrentSchema(metadata), *spec,
                                    iceberg::ManifestContent::kData, iceberg::kFormatVersion};
  for (const auto& file : request_.files) {
    iceberg::ManifestEntry entry;
    entry.status = iceberg::EntryStatus::kAdded;
    entry.file = file;
    entries_.push_back(std::move(entry));
  }
  TL_ASSIGN_OR_RAISE(auto bytes, iceberg::WriteManifest(*header_, entries_));
  manifest_key_ = fmt::format("{}/metadata/{}-added-m.avro", handle_.folder(),
                              FormatUuid(NewUuidV4(*env_.random)));
  manifest_length_ = bytes->size();
  own_keys_.push_back(manifest_key_);
  TL_RETURN_NOT_OK(Retried(env_, [&] { return env_.store->Put(manifest_key_, bytes); }).status());
  stored_ = true;
  return Status::OK();
}

Change AppendBuilder::Changes() const {
  Change change;
  change.operation = "append";
  std::set<std::vector<iceberg::Value>> partitions;
  for (const auto& file : request_.files) {
    change.added_files += 1;
    change.added_records += file.record_count;
    change.added_bytes += file.file_size_in_bytes;
    partitions.insert(file.partition);
  }
  change.changed_partitions = static_cast<int64_t>(partitions.size());
  return change;
}

Result<ManifestRows> AppendBuilder::NewRows(const Version& base, const iceberg::Snapshot& snapshot,
                                            Attempt* attempt) {
  ManifestRows rows;
  if (const auto* head = iceberg::CurrentSnapshot(*base.metadata)) {
    TL_ASSIGN_OR_RAISE(auto before, ReadRows(env_, *head));
    rows = *before;
  }
  TL_ASSIGN_OR_RAISE(auto merged,
                     MergeSmallManifests(handle_, *base.metadata, std::move(rows),
                                         snapshot.snapshot_id, snapshot.sequence_number));
  rows = std::move(merged.rows);
  for (auto& object : merged.objects) attempt->objects.push_back(std::move(object));
  if (!stored_) return rows;  // nothing new
  TL_ASSIGN_OR_RAISE(
      auto added,
      iceberg::DescribeManifest(*header_, entries_, store::UriOf(*env_.store, manifest_key_),
                                manifest_length_, snapshot.snapshot_id, snapshot.sequence_number));
  rows.push_back(std::move(added));
  return rows;
}

Result<BuildResult> AppendBuilder::Build(const Version& newest, const std::set<int64_t>& created) {
  const Rules& rules = *env_.rules;
  if (!request_.batch_id.empty() && rules.batch_ids && (rules.batch_each || !checked_batch_id_)) {
    checked_batch_id_ = true;
    if (auto hit = FindBatchId(env_, *newest.metadata, request_.batch_id)) {
      const bool own = created.contains(hit->snapshot_id) && rules.batch_own;
      return Settled{own ? Settled::Why::kOwnSnapshot : Settled::Why::kDuplicate, hit->snapshot_id,
                     hit->rows};
    }
  }
  TL_RETURN_NOT_OK(CheckDataAge(handle_, request_.started_boot_us));
  if (request_.check) TL_RETURN_NOT_OK(request_.check(newest));
  Version base = newest;
  if (request_.columns && (request_.match_columns || !fitted_once_)) {
    fitted_once_ = true;
    auto fitted = FitColumns(newest, *request_.columns);
    if (!fitted) return Settled{Settled::Why::kColumnsMoved};
    base = std::move(fitted->base);
    added_columns_ = std::move(fitted->added);
  }
  const iceberg::TableMetadata& metadata = *base.metadata;
  const bool some = !request_.files.empty();
  if (!stored_ && some) TL_RETURN_NOT_OK(WriteAddedManifest(metadata));
  SnapshotAttempt begun = BeginSnapshot(handle_, base);
  Attempt& attempt = begun.attempt;
  if (created.empty()) {  // no attempt has been sent yet, so none has synced them
    attempt.sync_too = request_.data_keys;
    if (some) attempt.sync_too.push_back(manifest_key_);
  }
  iceberg::Snapshot& snapshot = begun.snapshot;
  snapshot.summary = Summarize(iceberg::CurrentSnapshot(metadata), Changes());
  for (const auto& [key, value] : request_.summary) snapshot.summary.emplace(key, value);
  if (!request_.batch_id.empty()) snapshot.summary[kBatchId] = request_.batch_id;
  TL_ASSIGN_OR_RAISE(ManifestRows rows, NewRows(base, snapshot, &attempt));
  iceberg::ManifestFile added;
  if (some) added = rows.back();
  TL_ASSIGN_OR_RAISE(Attempt finished, FinishSnapshot(handle_, base, std::move(begun),
                                                      std::move(rows), request_.index));
  if (!some) return finished;
  // An append soon to come merges the manifest with others: it need not read it.
  finished.on_success = [this, added, before = std::move(finished.on_success)] {
    RememberEntries(env_, added, {*header_, entries_});
    if (before) before();
  };
  return finished;
}

}  // namespace

namespace {

// What remains to do when a commit is over: data files that no version names go.
Result<AppendOutcome> Conclude(Handle& handle, const AppendRequest& request,
                               const AppendBuilder& builder, Result<CommitResult> committed) {
  const bool failed = !committed.ok() && KindOf(committed.status()) != ErrorKind::kCommitUnknown;
  const auto settled = [&](Settled::Why why) {
    return committed.ok() && committed->settled && committed->settled->why == why;
  };
  const bool duplicate = settled(Settled::Why::kDuplicate);
  const bool moved = settled(Settled::Why::kColumnsMoved);
  if (failed || duplicate || moved) {
    std::vector<std::string> keys = builder.own_keys();
    if (!moved) keys.insert(keys.end(), request.data_keys.begin(), request.data_keys.end());
    const Env& env = handle.env();
    Status status = Retried(env, [&] { return env.store->DeleteAll(keys); });
    if (!status.ok()) {
      env.Log(LogLevel::kInfo,
              handle.name() + ": data files left for orphan clean-up: " + status.message());
    }
  }
  TL_RETURN_NOT_OK(committed.status());
  AppendOutcome outcome;
  outcome.duplicate = duplicate;
  outcome.columns_moved = moved;
  if (!duplicate && !moved) outcome.added_columns = builder.added_columns();
  if (duplicate) {
    outcome.duplicate_rows = committed->settled->rows;
    outcome.duplicate_snapshot = committed->settled->snapshot_id;
  }
  outcome.commit = std::move(*committed);
  return outcome;
}

}  // namespace

Result<AppendOutcome> CommitAppend(Handle& handle, const AppendRequest& request,
                                   const CommitOptions& options) {
  AppendBuilder builder(handle, request);
  auto committed = Commit(
      handle,
      [&](const Version& base, const std::set<int64_t>& created) {
        return builder.Build(base, created);
      },
      options);
  return Conclude(handle, request, builder, std::move(committed));
}

Result<AppendOutcome> CommitCreateWithRows(Handle& handle, const iceberg::TableMetadata& metadata,
                                           const AppendRequest& request,
                                           const CommitOptions& options) {
  AppendBuilder builder(handle, request);
  auto committed = CommitCreate(
      handle, metadata, options,
      [&](const iceberg::TableMetadata& first,
          const std::set<int64_t>& created) -> Result<Attempt> {
        Version nothing;
        nothing.metadata = std::make_shared<const iceberg::TableMetadata>(first);
        TL_ASSIGN_OR_RAISE(BuildResult built, builder.Build(nothing, created));
        if (auto* attempt = std::get_if<Attempt>(&built)) return std::move(*attempt);
        return InternalError("table {}: rows of a table that is not there yet", handle.name());
      });
  return Conclude(handle, request, builder, std::move(committed));
}

}  // namespace timelake::table

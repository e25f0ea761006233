#include "table/reach.h"

#include "table/batch_ids.h"
#include "table/contract.h"
#include "table/manifests.h"

namespace timelake::table {
namespace {

Status AddKey(const Env& env, const std::string& uri, std::set<std::string>* keys) {
  TL_ASSIGN_OR_RAISE(std::string key, store::KeyOf(*env.store, uri));
  keys->insert(std::move(key));
  return Status::OK();
}

bool Skippable(const Status& status, Reading reading) {
  return reading == Reading::kSkipMissing && KindOf(status) == ErrorKind::kNotFound;
}

Status AddFilesOf(const Env& env, const iceberg::ManifestFile& row, Reading reading,
                  std::set<std::string>* keys) {
  auto manifest = ReadEntries(env, row);
  if (!manifest.ok()) {
    return Skippable(manifest.status(), reading) ? Status::OK() : manifest.status();
  }
  for (const auto& entry : (*manifest)->entries) {
    if (entry.status == iceberg::EntryStatus::kDeleted) continue;
    TL_RETURN_NOT_OK(AddKey(env, entry.file.file_path, keys));
  }
  return Status::OK();
}

}  // namespace

Status AddReach(const Env& env, const iceberg::Snapshot& snapshot, Reading reading, Reach* reach) {
  if (!snapshot.manifest_list.empty()) {
    TL_RETURN_NOT_OK(AddKey(env, snapshot.manifest_list, &reach->others));
  }
  for (const char* key : {kLastValueIndex, kIndexBase, kIndexPart}) {
    if (auto it = snapshot.summary.find(key); it != snapshot.summary.end()) {
      TL_RETURN_NOT_OK(AddKey(env, it->second, &reach->others));
    }
  }
  auto rows = ReadRows(env, snapshot);
  if (!rows.ok()) return Skippable(rows.status(), reading) ? Status::OK() : rows.status();
  for (const auto& row : **rows) {
    TL_RETURN_NOT_OK(AddKey(env, row.manifest_path, &reach->manifests));
    TL_RETURN_NOT_OK(AddFilesOf(env, row, reading, &reach->files));
  }
  return Status::OK();
}

Result<Reach> ReachOf(const Env& env, const iceberg::TableMetadata& metadata, Reading reading) {
  Reach reach;
  for (const auto& snapshot : metadata.snapshots) {
    TL_RETURN_NOT_OK(AddReach(env, snapshot, reading, &reach));
  }
  if (auto log = BatchIdLogFile(metadata)) TL_RETURN_NOT_OK(AddKey(env, *log, &reach.others));
  return reach;
}

}  // namespace timelake::table

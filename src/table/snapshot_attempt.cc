#include "table/snapshot_attempt.h"

#include <utility>

#include <fmt/format.h>

#include "base/uuid.h"
#include "iceberg/invariants.h"
#include "table/contract.h"
#include "table/next_metadata.h"
#include "table/rollup_history.h"
#include "table/rollup_position.h"
#include "table/versions.h"

namespace timelake::table {
namespace {

constexpr int64_t kMaxDataAgeUs = int64_t{12} * 3600 * 1'000'000;

}  // namespace

Status CheckDataAge(const Handle& handle, int64_t started_boot_us) {
  if (handle.env().clock->BootMicros() - started_boot_us < kMaxDataAgeUs) return Status::OK();
  return Conflict(
      "table {}: the data files were written too long ago to be committed safely; "
      "write the rows again",
      handle.name());
}

SnapshotAttempt BeginSnapshot(const Handle& handle, const Version& base) {
  const iceberg::TableMetadata& metadata = *base.metadata;
  SnapshotAttempt begun;
  begun.attempt.metadata = base.number == 0 ? metadata : Following(handle, base);
  begun.attempt.metadata.properties.erase(kCommitId);  // the snapshot's id tells this version
  const iceberg::Snapshot* parent = iceberg::CurrentSnapshot(metadata);
  iceberg::Snapshot& snapshot = begun.snapshot;
  do {
    snapshot.snapshot_id = NewSnapshotId(*handle.env().random);
  } while (iceberg::SnapshotById(metadata, snapshot.snapshot_id) != nullptr);
  if (parent) snapshot.parent_snapshot_id = parent->snapshot_id;
  snapshot.sequence_number = metadata.last_sequence_number + 1;
  snapshot.timestamp_ms = begun.attempt.metadata.last_updated_ms;
  snapshot.schema_id = metadata.current_schema_id;
  return begun;
}

Result<Attempt> FinishSnapshot(const Handle& handle, const Version& base, SnapshotAttempt begun,
                               ManifestRows rows, const IndexFn& index) {
  const Env& env = handle.env();
  Attempt& attempt = begun.attempt;
  iceberg::Snapshot& snapshot = begun.snapshot;
  const std::string list_key =
      fmt::format("{}/metadata/snap-{}-{}.avro", handle.folder(), snapshot.snapshot_id,
                  FormatUuid(NewUuidV4(*env.random)));
  snapshot.manifest_list = store::UriOf(*env.store, list_key);
  TL_RETURN_NOT_OK(iceberg::CheckManifestList(snapshot, rows));
  TL_ASSIGN_OR_RAISE(
      auto list,
      iceberg::WriteManifestList(
          {snapshot.snapshot_id, snapshot.parent_snapshot_id, snapshot.sequence_number}, rows));
  attempt.objects.push_back({list_key, std::move(list)});

  std::function<void()> remember_index;
  if (index) {
    TL_ASSIGN_OR_RAISE(auto object, index(base, snapshot.snapshot_id));
    if (object) {
      for (auto& [key, value] : object->summary) snapshot.summary[key] = std::move(value);
      if (object->put) attempt.objects.push_back(std::move(*object->put));
      remember_index = std::move(object->on_success);
    }
  }
  CarryPosition(*base.metadata, &snapshot.summary);
  CarryHistory(*base.metadata, &snapshot);
  if (IsShared(base)) attempt.metadata.properties[kShared] = "true";
  attempt.snapshot_id = snapshot.snapshot_id;
  attempt.on_success = [env, uri = snapshot.manifest_list, rows = std::move(rows), remember_index] {
    RememberRows(env, uri, rows);
    if (remember_index) remember_index();
  };
  AddSnapshot(&attempt.metadata, std::move(snapshot));
  return std::move(attempt);
}

}  // namespace timelake::table

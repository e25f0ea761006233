#include "table/changes.h"

#include "base/civil_time.h"
#include "table/chunk_tiers.h"
#include "table/contract.h"
#include "table/load.h"
#include "table/next_metadata.h"
#include "table/settings_columns.h"
#include "table/versions.h"

namespace timelake::table {

Result<CommitResult> CommitProperties(
    Handle& handle, const std::map<std::string, std::optional<std::string>>& changes,
    const CommitOptions& options) {
  std::map<std::string, std::optional<std::string>> checked;
  for (const auto& [name, value] : changes) {
    std::string key;
    if (value) {
      TL_ASSIGN_OR_RAISE(key, CheckSetting(name, *value, kAtTable));
    } else {
      TL_ASSIGN_OR_RAISE(key, CheckUnset(name));
    }
    if (value) {
      checked[key] = StoredValue(key, *value);
    } else {
      checked[key] = std::nullopt;
    }
  }
  return Commit(
      handle,
      [&](const Version& base, const std::set<int64_t>&) -> Result<BuildResult> {
        auto properties = base.metadata->properties;
        std::map<std::string, std::string> changed;
        for (const auto& [key, value] : checked) {
          if (value) {
            changed[key] = properties[key] = *value;
          } else {
            properties.erase(key);
          }
        }
        if (properties == base.metadata->properties) return Settled{};
        TL_RETURN_NOT_OK(CheckTogether(properties));
        TL_RETURN_NOT_OK(CheckColumnSettings(*iceberg::CurrentSchema(*base.metadata), changed));
        Attempt attempt;
        attempt.metadata = Following(handle, base);
        properties.erase(kCommitId);
        attempt.metadata.properties = std::move(properties);
        if (const auto tiers = changed.find("timelake.chunk-tiers"); tiers != changed.end()) {
          TL_ASSIGN_OR_RAISE(const auto parsed, ParseChunkTiers(tiers->second));
          TL_RETURN_NOT_OK(AddTierSpecs(parsed, &attempt.metadata));
        }
        StampCommit(handle.env(), &attempt.metadata);
        return attempt;
      },
      options);
}

Result<CommitResult> CommitRollback(Handle& handle, int64_t snapshot_id,
                                    const CommitOptions& options) {
  return Commit(
      handle,
      [&](const Version& base, const std::set<int64_t>&) -> Result<BuildResult> {
        if (iceberg::SnapshotById(*base.metadata, snapshot_id) == nullptr) {
          return NotFound("table {} holds no snapshot {} (`timelake snapshots {}` lists them)",
                          handle.name(), snapshot_id, handle.name());
        }
        if (base.metadata->current_snapshot_id == snapshot_id) return Settled{};
        Attempt attempt;
        attempt.metadata = Following(handle, base);
        MakeCurrent(&attempt.metadata, snapshot_id, attempt.metadata.last_updated_ms);
        StampCommit(handle.env(), &attempt.metadata);
        return attempt;
      },
      options);
}

Result<CommitResult> CommitDrop(Handle& handle, const CommitOptions& options) {
  return Commit(
      handle,
      [&](const Version& base, const std::set<int64_t>&) -> Result<BuildResult> {
        Attempt attempt;
        attempt.metadata = Following(handle, base);
        attempt.metadata.snapshots.clear();
        attempt.metadata.current_snapshot_id.reset();
        attempt.metadata.snapshot_log.clear();
        attempt.metadata.refs.clear();
        attempt.metadata.properties.erase(kBatchIdLog);
        attempt.metadata.properties[kDropped] = FormatTimestamp(handle.env().clock->NowMicros());
        StampCommit(handle.env(), &attempt.metadata);
        return attempt;
      },
      options);
}

Result<CommitResult> CommitCreate(Handle& handle, const iceberg::TableMetadata& metadata,
                                  const CommitOptions& options, const BuildFirstFn& build) {
  const auto first = [&](const iceberg::TableMetadata& of,
                         const std::set<int64_t>& created) -> Result<Attempt> {
    if (build) return build(of, created);
    Attempt attempt;
    attempt.metadata = of;
    return attempt;
  };
  const Env& env = handle.env();
  const int64_t listed = env.clock->BootMicros();
  TL_ASSIGN_OR_RAISE(auto newest, FindNewest(handle, {}));
  if (!newest) {
    TL_ASSIGN_OR_RAISE(Attempt attempt, first(metadata, {}));
    return CommitFirst(handle, std::move(attempt), listed, options);
  }
  CommitOptions on_tombstone = options;
  on_tombstone.on_tombstone = true;
  return Commit(
      handle,
      [&](const Version& base, const std::set<int64_t>& created) -> Result<BuildResult> {
        if (!IsDropped(*base.metadata)) {
          return AlreadyExists("table {} already exists", handle.name());
        }
        iceberg::TableMetadata above = metadata;
        // Sequence numbers and times of a location never go back either.
        above.last_sequence_number = base.metadata->last_sequence_number;
        above.last_updated_ms = std::max(metadata.last_updated_ms, base.metadata->last_updated_ms);
        TL_ASSIGN_OR_RAISE(Attempt attempt, first(above, created));
        return attempt;
      },
      on_tombstone);
}

}  // namespace timelake::table

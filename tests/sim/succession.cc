#include "sim/succession.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "table/contract.h"
#include "table/versions.h"

namespace timelake::sim {
namespace {

using iceberg::TableMetadata;

std::set<int64_t> Ids(const TableMetadata& metadata) {
  std::set<int64_t> ids;
  for (const auto& snapshot : metadata.snapshots) ids.insert(snapshot.snapshot_id);
  return ids;
}

std::map<std::string, int64_t> Refs(const TableMetadata& metadata, bool with_main) {
  std::map<std::string, int64_t> refs;
  for (const auto& [name, ref] : metadata.refs) {
    if (with_main || name != "main") refs[name] = ref.snapshot_id;
  }
  return refs;
}

std::map<std::string, std::string> Properties(const TableMetadata& metadata, bool with_log) {
  auto properties = metadata.properties;
  properties.erase(table::kCommitId);
  if (!with_log) properties.erase(table::kBatchIdLog);
  return properties;
}

bool SameColumns(const TableMetadata& base, const TableMetadata& next) {
  return base.current_schema_id == next.current_schema_id &&
         iceberg::SameFields(*iceberg::CurrentSchema(base), *iceberg::CurrentSchema(next));
}

// Whether columns were added, and nothing else.
bool Extends(const TableMetadata& base, const TableMetadata& next) {
  const auto& before = iceberg::CurrentSchema(base)->fields;
  const auto& after = iceberg::CurrentSchema(next)->fields;
  return before.size() <= after.size() && std::equal(before.begin(), before.end(), after.begin());
}

Status CheckLog(const TableMetadata& base, const TableMetadata& next) {
  if (next.metadata_log.empty() || next.metadata_log.back().timestamp_ms != base.last_updated_ms) {
    return Corrupt("does not descend from the version below: its log says so");
  }
  return Status::OK();
}

// The same snapshots, or fewer.
Result<ChangeKind> WithoutNewSnapshot(const TableMetadata& base, const TableMetadata& next) {
  const bool same_refs =
      Refs(base, true) == Refs(next, true) && base.current_snapshot_id == next.current_snapshot_id;
  if (!SameColumns(base, next)) {
    const bool else_same =
        same_refs && Ids(base) == Ids(next) && Properties(base, true) == Properties(next, true);
    return else_same ? Result<ChangeKind>(ChangeKind::kColumns)
                     : Corrupt("changes columns and more than them");
  }
  if (next.snapshots.size() < base.snapshots.size()) {
    if (!same_refs) return Corrupt("expires snapshots and moves refs");
    if (Properties(base, false) != Properties(next, false)) {
      return Corrupt("expires snapshots and changes properties");
    }
    return ChangeKind::kExpire;
  }
  const bool same_properties = Properties(base, true) == Properties(next, true);
  if (!same_refs && !same_properties) return Corrupt("moves refs and changes properties");
  return same_refs ? ChangeKind::kProperties : ChangeKind::kMoveRefs;
}

}  // namespace

std::string_view ChangeName(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kCreate: return "creates";
    case ChangeKind::kSnapshot: return "snapshots";
    case ChangeKind::kExpire: return "expiries";
    case ChangeKind::kMoveRefs: return "moved refs";
    case ChangeKind::kProperties: return "property changes";
    case ChangeKind::kColumns: return "column changes";
    case ChangeKind::kDrop: return "drops";
  }
  return "";
}

Result<ChangeKind> KindOfChange(const TableMetadata& base, const TableMetadata& next) {
  if (table::IsDropped(base)) {
    if (table::IsDropped(next) || next.table_uuid == base.table_uuid || !next.snapshots.empty()) {
      return Corrupt("goes on with a dropped table");
    }
    return ChangeKind::kCreate;
  }
  if (next.table_uuid != base.table_uuid) return Corrupt("is another table");
  TL_RETURN_NOT_OK(CheckLog(base, next));
  if (table::IsDropped(next)) return ChangeKind::kDrop;
  const auto before = Ids(base), after = Ids(next);
  size_t added = 0;
  for (const int64_t id : after) added += before.contains(id) ? 0 : 1;
  if (added == 0) return WithoutNewSnapshot(base, next);
  if (after.size() != before.size() + 1) return Corrupt("lost a snapshot of the version below");
  if (Refs(base, false) != Refs(next, false)) return Corrupt("lost a ref of the version below");
  if (Properties(base, true) != Properties(next, true)) {
    return Corrupt("lost a property of the version below");
  }
  if (!Extends(base, next)) return Corrupt("changes columns of the version below with its rows");
  return ChangeKind::kSnapshot;
}

}  // namespace timelake::sim

#include "iceberg/invariants.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "iceberg/schema.h"

namespace timelake::iceberg {
namespace {

constexpr char kMain[] = "main";
constexpr char kDroppedProperty[] = "timelake.dropped";
constexpr char kCommitIdProperty[] = "timelake.commit-id";

// Clocks of several writers disagree a little; entries of the logs may step back by this much
// (Iceberg's Java library tolerates the same).
constexpr int64_t kClockToleranceMs = 60'000;

bool IsTombstone(const TableMetadata& metadata) {
  return metadata.properties.contains(kDroppedProperty);
}

std::string IdText(const std::optional<int64_t>& id) { return id ? std::to_string(*id) : "none"; }

Status CheckIdentity(const TableMetadata& m) {
  if (m.format_version != 1 && m.format_version != kFormatVersion) {
    return Corrupt("format-version {} is not 1 or 2", m.format_version);
  }
  if (m.table_uuid.empty()) return Corrupt("table-uuid is empty");
  if (m.location.empty()) return Corrupt("location is empty");
  if (m.location.ends_with('/')) return Corrupt("location {} ends with '/'", m.location);
  if (m.last_sequence_number < 0) {
    return Corrupt("last-sequence-number {} is negative", m.last_sequence_number);
  }
  return Status::OK();
}

Status CheckSchemas(const TableMetadata& m) {
  std::set<int> ids;
  for (const Schema& schema : m.schemas) {
    if (!ids.insert(schema.schema_id).second) {
      return Corrupt("schema id {} is there twice", schema.schema_id);
    }
    const Status valid = ValidateSchema(schema);
    if (!valid.ok()) return Corrupt("schema {}: {}", schema.schema_id, MessageOf(valid));
    if (const int highest = HighestFieldId(schema); highest > m.last_column_id) {
      return Corrupt("schema {}: field id {} is above last-column-id {}", schema.schema_id, highest,
                     m.last_column_id);
    }
  }
  if (!ids.contains(m.current_schema_id)) {
    return Corrupt("current-schema-id {} is not among the schemas", m.current_schema_id);
  }
  return Status::OK();
}

Status CheckSpecs(const TableMetadata& m) {
  std::set<int> ids;
  for (const PartitionSpec& spec : m.partition_specs) {
    if (!ids.insert(spec.spec_id).second) {
      return Corrupt("partition spec id {} is there twice", spec.spec_id);
    }
    std::set<int> field_ids;
    for (const PartitionField& field : spec.fields) {
      if (!field_ids.insert(field.field_id).second) {
        return Corrupt("partition spec {}: field id {} is there twice", spec.spec_id,
                       field.field_id);
      }
      if (field.field_id > m.last_partition_id) {
        return Corrupt("partition spec {}: field id {} is above last-partition-id {}", spec.spec_id,
                       field.field_id, m.last_partition_id);
      }
    }
  }
  if (!ids.contains(m.default_spec_id)) {
    return Corrupt("default-spec-id {} is not among the partition specs", m.default_spec_id);
  }
  return Status::OK();
}

Status CheckSortOrders(const TableMetadata& m) {
  std::set<int> ids;
  for (const SortOrder& order : m.sort_orders) {
    if (!ids.insert(order.order_id).second) {
      return Corrupt("sort order id {} is there twice", order.order_id);
    }
    if (order.order_id == 0 && !order.fields.empty()) {
      return Corrupt("sort order 0 has fields, but is reserved for \"unsorted\"");
    }
  }
  if (!ids.contains(m.default_sort_order_id)) {
    return Corrupt("default-sort-order-id {} is not among the sort orders",
                   m.default_sort_order_id);
  }
  return Status::OK();
}

Status CheckSnapshots(const TableMetadata& m) {
  std::map<int64_t, const Snapshot*> by_id;
  for (const Snapshot& snapshot : m.snapshots) {
    const int64_t id = snapshot.snapshot_id;
    if (id <= 0) return Corrupt("snapshot id {} is not positive", id);
    if (!by_id.emplace(id, &snapshot).second) return Corrupt("snapshot id {} is there twice", id);
    if (snapshot.sequence_number < 0 || snapshot.sequence_number > m.last_sequence_number) {
      return Corrupt("snapshot {}: sequence number {} is not in 0..{} (last-sequence-number)", id,
                     snapshot.sequence_number, m.last_sequence_number);
    }
    if (snapshot.manifest_list.empty() && snapshot.manifests.empty() &&
        snapshot.sequence_number > 0) {
      return Corrupt("snapshot {} has no manifest list", id);
    }
  }
  for (const Snapshot& snapshot : m.snapshots) {
    if (!snapshot.parent_snapshot_id || snapshot.sequence_number == 0) continue;
    auto parent = by_id.find(*snapshot.parent_snapshot_id);
    if (parent == by_id.end()) continue;  // expired
    if (parent->second->sequence_number >= snapshot.sequence_number) {
      return Corrupt("snapshot {}: sequence number {} is not above that of its parent {} ({})",
                     snapshot.snapshot_id, snapshot.sequence_number, parent->first,
                     parent->second->sequence_number);
    }
  }
  return Status::OK();
}

Status CheckRefs(const TableMetadata& m) {
  if (m.current_snapshot_id && CurrentSnapshot(m) == nullptr) {
    return Corrupt("current snapshot {} is not among the snapshots", *m.current_snapshot_id);
  }
  for (const auto& [name, ref] : m.refs) {
    if (ref.type != "branch" && ref.type != "tag") {
      return Corrupt("ref {}: type {} is not branch or tag", Quote(name), Quote(ref.type));
    }
    if (SnapshotById(m, ref.snapshot_id) == nullptr) {
      return Corrupt("ref {} points at snapshot {}, which is not kept", Quote(name),
                     ref.snapshot_id);
    }
  }
  auto main = m.refs.find(kMain);
  std::optional<int64_t> head;
  if (main != m.refs.end()) {
    if (main->second.type != "branch") return Corrupt("ref \"main\" is not a branch");
    head = main->second.snapshot_id;
  }
  if (head != m.current_snapshot_id) {
    return Corrupt("ref \"main\" points at snapshot {}, the current snapshot is {}", IdText(head),
                   IdText(m.current_snapshot_id));
  }
  return Status::OK();
}

template <typename Entry>
Status CheckLogOrder(const std::vector<Entry>& log, const char* name, int64_t last_updated_ms) {
  for (size_t i = 1; i < log.size(); ++i) {
    if (log[i].timestamp_ms < log[i - 1].timestamp_ms - kClockToleranceMs) {
      return Corrupt("{}: entry {} of {} is before entry {} of {}", name, i, log[i].timestamp_ms,
                     i - 1, log[i - 1].timestamp_ms);
    }
  }
  if (!log.empty() && log.back().timestamp_ms > last_updated_ms + kClockToleranceMs) {
    return Corrupt("{}: the last entry, of {}, is after last-updated-ms {}", name,
                   log.back().timestamp_ms, last_updated_ms);
  }
  return Status::OK();
}

Status CheckLogs(const TableMetadata& m) {
  TL_RETURN_NOT_OK(CheckLogOrder(m.snapshot_log, "snapshot-log", m.last_updated_ms));
  TL_RETURN_NOT_OK(CheckLogOrder(m.metadata_log, "metadata-log", m.last_updated_ms));
  std::set<std::string_view> files;
  for (const MetadataLogEntry& entry : m.metadata_log) {
    if (!files.insert(entry.metadata_file).second) {
      return Corrupt("metadata-log: {} is there twice", entry.metadata_file);
    }
  }
  return Status::OK();
}

Status CheckNotBack(const char* name, int64_t base, int64_t next) {
  if (next >= base) return Status::OK();
  return Corrupt("{} goes back from {} to {}", name, base, next);
}

// The snapshots of `next` that `base` does not have; those of both must be the same.
Result<std::vector<const Snapshot*>> NewSnapshots(const TableMetadata& base,
                                                  const TableMetadata& next) {
  std::map<int64_t, const Snapshot*> known;
  for (const Snapshot& snapshot : base.snapshots) known.emplace(snapshot.snapshot_id, &snapshot);
  std::vector<const Snapshot*> added;
  const bool moved = base.location != next.location;  // then all lists are written anew
  for (const Snapshot& snapshot : next.snapshots) {
    auto before = known.find(snapshot.snapshot_id);
    if (before == known.end()) {
      added.push_back(&snapshot);
    } else if ((before->second->manifest_list != snapshot.manifest_list && !moved) ||
               before->second->sequence_number != snapshot.sequence_number ||
               before->second->parent_snapshot_id != snapshot.parent_snapshot_id) {
      return Corrupt("snapshot {} has changed its manifest list, sequence number or parent",
                     snapshot.snapshot_id);
    }
  }
  return added;
}

Status CheckNewSnapshot(const TableMetadata& base, const TableMetadata& next,
                        const Snapshot& added) {
  const int64_t id = added.snapshot_id;
  if (added.parent_snapshot_id != base.current_snapshot_id) {
    return Corrupt("new snapshot {} has the parent {}, the base's head is {}", id,
                   IdText(added.parent_snapshot_id), IdText(base.current_snapshot_id));
  }
  if (added.sequence_number != base.last_sequence_number + 1) {
    return Corrupt("new snapshot {} has sequence number {}, the base's last is {}", id,
                   added.sequence_number, base.last_sequence_number);
  }
  if (next.current_snapshot_id != id) {
    return Corrupt("new snapshot {} is not the current one, {} is", id,
                   IdText(next.current_snapshot_id));
  }
  return Status::OK();
}

bool SameSpec(const PartitionSpec& a, const PartitionSpec& b) {
  return std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(),
                    [](const PartitionField& x, const PartitionField& y) {
                      return x.source_id == y.source_id && x.field_id == y.field_id &&
                             x.name == y.name && x.transform == y.transform;
                    });
}

bool SameOrder(const SortOrder& a, const SortOrder& b) {
  return std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(),
                    [](const SortField& x, const SortField& y) {
                      return x.source_id == y.source_id && x.transform == y.transform &&
                             x.direction == y.direction && x.null_order == y.null_order;
                    });
}

// Manifests and data files refer to specs and sort orders by id, so all of them stay. A schema may
// go once neither a kept snapshot nor the table refers to it.
Status CheckNothingLost(const TableMetadata& base, const TableMetadata& next) {
  for (const Schema& schema : base.schemas) {
    const Schema* kept = SchemaById(next, schema.schema_id);
    if (kept != nullptr && !SameFields(schema, *kept)) {
      return Corrupt("schema {} has changed", schema.schema_id);
    }
    const bool used = schema.schema_id == base.current_schema_id ||
                      std::any_of(next.snapshots.begin(), next.snapshots.end(),
                                  [&schema](const Snapshot& snapshot) {
                                    return snapshot.schema_id == schema.schema_id;
                                  });
    if (kept == nullptr && used) return Corrupt("schema {} is lost", schema.schema_id);
  }
  for (const PartitionSpec& spec : base.partition_specs) {
    const PartitionSpec* kept = SpecById(next, spec.spec_id);
    if (kept == nullptr) return Corrupt("partition spec {} is lost", spec.spec_id);
    if (!SameSpec(spec, *kept)) return Corrupt("partition spec {} has changed", spec.spec_id);
  }
  for (const SortOrder& order : base.sort_orders) {
    auto kept =
        std::find_if(next.sort_orders.begin(), next.sort_orders.end(),
                     [&order](const SortOrder& other) { return other.order_id == order.order_id; });
    if (kept == next.sort_orders.end()) return Corrupt("sort order {} is lost", order.order_id);
    if (!SameOrder(order, *kept)) return Corrupt("sort order {} has changed", order.order_id);
  }
  return Status::OK();
}

void CollectTypes(const std::vector<Field>& fields, std::map<int, const Type*>* types) {
  for (const Field& field : fields) {
    types->emplace(field.id, &field.type);
    CollectTypes(field.type.fields, types);
  }
}

// Files know columns by id alone: an id stays with one column for good, and its type only grows.
Status CheckColumnIds(const TableMetadata& base, const TableMetadata& next) {
  std::map<int, const Type*> known;  // of the current schema first
  CollectTypes(CurrentSchema(base)->fields, &known);
  for (const Schema& schema : base.schemas) CollectTypes(schema.fields, &known);
  for (const Schema& schema : next.schemas) {
    if (SchemaById(base, schema.schema_id) != nullptr) continue;
    std::map<int, const Type*> types;
    CollectTypes(schema.fields, &types);
    for (const auto& [id, type] : types) {
      const auto before = known.find(id);
      if (before == known.end()) {
        if (id > base.last_column_id) continue;
        return Corrupt("schema {}: field id {} was given before (last-column-id was {})",
                       schema.schema_id, id, base.last_column_id);
      }
      if (CanPromote(*before->second, *type)) continue;
      return Corrupt("schema {}: field id {} was {} and becomes {}", schema.schema_id, id,
                     TypeName(*before->second), TypeName(*type));
    }
  }
  return Status::OK();
}

// Each metadata file holds a random id, so that its bytes are never another attempt's.
Status CheckCommitId(const TableMetadata& base, const TableMetadata& next) {
  auto now = next.properties.find(kCommitIdProperty);
  if (now == next.properties.end() || now->second.empty()) {
    return Corrupt("a commit without a new snapshot needs the property {}", kCommitIdProperty);
  }
  auto before = base.properties.find(kCommitIdProperty);
  if (before != base.properties.end() && before->second == now->second) {
    return Corrupt("property {} is still {}", kCommitIdProperty, now->second);
  }
  return Status::OK();
}

Status CheckRowCounts(const ManifestFile& row) {
  const std::pair<const char*, int64_t> counts[] = {
      {"manifest_length", row.manifest_length},
      {"added_files_count", row.added_files_count},
      {"existing_files_count", row.existing_files_count},
      {"deleted_files_count", row.deleted_files_count},
      {"added_rows_count", row.added_rows_count},
      {"existing_rows_count", row.existing_rows_count},
      {"deleted_rows_count", row.deleted_rows_count},
      {"min_sequence_number", row.min_sequence_number},
  };
  for (const auto& [name, count] : counts) {
    if (count < 0) return Corrupt("manifest {}: {} is {}", row.manifest_path, name, count);
  }
  return Status::OK();
}

}  // namespace

Status CheckMetadata(const TableMetadata& metadata) {
  TL_RETURN_NOT_OK(CheckIdentity(metadata));
  TL_RETURN_NOT_OK(CheckSchemas(metadata));
  TL_RETURN_NOT_OK(CheckSpecs(metadata));
  TL_RETURN_NOT_OK(CheckSortOrders(metadata));
  TL_RETURN_NOT_OK(CheckSnapshots(metadata));
  TL_RETURN_NOT_OK(CheckRefs(metadata));
  return CheckLogs(metadata);
}

Status CheckSuccession(const TableMetadata& base, const TableMetadata& next) {
  TL_RETURN_NOT_OK(CheckNotBack("last-updated-ms", base.last_updated_ms, next.last_updated_ms));
  if (base.table_uuid != next.table_uuid && !base.table_uuid.empty()) {
    // A new table at this location: it owes the dropped one only the order of time.
    if (IsTombstone(base)) return Status::OK();
    return Corrupt("table-uuid changes from {} to {}", base.table_uuid, next.table_uuid);
  }
  TL_RETURN_NOT_OK(
      CheckNotBack("last-sequence-number", base.last_sequence_number, next.last_sequence_number));
  TL_RETURN_NOT_OK(CheckNotBack("format-version", base.format_version, next.format_version));
  TL_RETURN_NOT_OK(CheckNotBack("last-column-id", base.last_column_id, next.last_column_id));
  TL_RETURN_NOT_OK(
      CheckNotBack("last-partition-id", base.last_partition_id, next.last_partition_id));
  TL_RETURN_NOT_OK(CheckNothingLost(base, next));
  TL_RETURN_NOT_OK(CheckColumnIds(base, next));
  TL_ASSIGN_OR_RAISE(const auto added, NewSnapshots(base, next));
  if (added.size() > 1) {
    return Corrupt("one commit adds {} snapshots, {} and {} among them", added.size(),
                   added[0]->snapshot_id, added[1]->snapshot_id);
  }
  if (!added.empty()) TL_RETURN_NOT_OK(CheckNewSnapshot(base, next, *added[0]));
  const int64_t expected = base.last_sequence_number + static_cast<int64_t>(added.size());
  if (next.last_sequence_number != expected) {
    return Corrupt("last-sequence-number is {}, expected {}", next.last_sequence_number, expected);
  }
  return added.empty() ? CheckCommitId(base, next) : Status::OK();
}

Status CheckManifestList(const Snapshot& snapshot, const std::vector<ManifestFile>& rows) {
  std::set<std::string_view> paths;
  for (const ManifestFile& row : rows) {
    if (row.manifest_path.empty()) {
      return Corrupt("snapshot {}: a manifest has no path", snapshot.snapshot_id);
    }
    if (!paths.insert(row.manifest_path).second) {
      return Corrupt("snapshot {}: manifest {} is listed twice", snapshot.snapshot_id,
                     row.manifest_path);
    }
    TL_RETURN_NOT_OK(CheckRowCounts(row));
    if (row.sequence_number > snapshot.sequence_number) {
      return Corrupt("manifest {}: sequence number {} is above that of snapshot {} ({})",
                     row.manifest_path, row.sequence_number, snapshot.snapshot_id,
                     snapshot.sequence_number);
    }
    if (row.min_sequence_number > row.sequence_number) {
      return Corrupt("manifest {}: min_sequence_number {} is above its sequence number {}",
                     row.manifest_path, row.min_sequence_number, row.sequence_number);
    }
    if (row.added_snapshot_id == snapshot.snapshot_id &&
        row.sequence_number != snapshot.sequence_number) {
      return Corrupt("manifest {} was added by snapshot {} but has sequence number {}, not {}",
                     row.manifest_path, snapshot.snapshot_id, row.sequence_number,
                     snapshot.sequence_number);
    }
  }
  return Status::OK();
}

}  // namespace timelake::iceberg

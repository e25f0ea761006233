#include "sql/metadata_rows.h"

#include <map>
#include <set>
#include <utility>

#include "base/civil_time.h"
#include "iceberg/manifest.h"
#include "iceberg/partition.h"
#include "sql/types.h"
#include "table/manifests.h"

namespace timelake::sql {

namespace {

using duckdb::LogicalType;
using duckdb::Value;
using Rows = std::vector<MetadataRow>;
using Table = std::shared_ptr<const TableVersion>;

template <typename T, typename Make>
Value OrNull(const std::optional<T>& value, const Make& make) {
  return value ? make(*value) : Value();
}

Value Long(int64_t number) { return Value::BIGINT(number); }

Value Instant(int64_t millis) {
  constexpr int64_t kMost = INT64_MAX / kMicrosPerMilli - 1;
  if (millis > kMost || millis < -kMost) return Value(LogicalType::TIMESTAMP_TZ);
  return Value::TIMESTAMPTZ(duckdb::timestamp_tz_t(millis * kMicrosPerMilli));
}

// Manifest lists of version 1 may lack counts.
Value Count(int64_t count) {
  return count == iceberg::kUnknownCount ? Value(LogicalType::BIGINT) : Value::BIGINT(count);
}

Value TextMap(const std::map<std::string, std::string>& pairs, const LogicalType& value_type) {
  duckdb::vector<Value> keys, values;
  for (const auto& [key, value] : pairs) {
    keys.emplace_back(key);
    values.push_back(Value(value).DefaultCastAs(value_type));
  }
  return Value::MAP(LogicalType::VARCHAR, value_type, std::move(keys), std::move(values));
}

const iceberg::Field* TimeField(const TableVersion& table) {
  return table.contract.time_id ? iceberg::FindFieldById(*table.schema, *table.contract.time_id)
                                : nullptr;
}

LogicalType TimeType(const TableVersion& table) {
  const iceberg::Field* time = TimeField(table);
  return time ? ToLogicalType(time->type) : LogicalType::TIMESTAMP_TZ;
}

std::optional<int64_t> TimeBound(const TableVersion& table,
                                 const std::map<int, std::string>& bounds) {
  const iceberg::Field* time = TimeField(table);
  if (!time) return std::nullopt;
  const auto found = bounds.find(time->id);
  if (found == bounds.end()) return std::nullopt;
  const auto value = iceberg::FromBytes(time->type, found->second);
  const auto* micros = value.ok() ? std::get_if<int64_t>(&*value) : nullptr;
  return micros ? std::optional(*micros) : std::nullopt;
}

Value TimeValue(const TableVersion& table, const std::optional<int64_t>& micros) {
  const LogicalType type = TimeType(table);
  if (!micros) return Value(type);
  return type.id() == duckdb::LogicalTypeId::TIMESTAMP
             ? Value::TIMESTAMP(duckdb::timestamp_t(*micros))
             : Value::TIMESTAMPTZ(duckdb::timestamp_tz_t(*micros));
}

// Ids of the current snapshot and of those that it grew from.
std::set<int64_t> Ancestors(const iceberg::TableMetadata& metadata) {
  std::set<int64_t> ids;
  const iceberg::Snapshot* snapshot = iceberg::CurrentSnapshot(metadata);
  while (snapshot && ids.insert(snapshot->snapshot_id).second) {
    if (!snapshot->parent_snapshot_id) break;
    snapshot = iceberg::SnapshotById(metadata, *snapshot->parent_snapshot_id);
  }
  return ids;
}

Rows SnapshotRows(const TableVersion& table) {
  Rows rows;
  for (const iceberg::Snapshot& s : table.metadata->snapshots) {
    rows.push_back({Long(s.snapshot_id), OrNull(s.parent_snapshot_id, Long),
                    Long(s.sequence_number), Instant(s.timestamp_ms), Value(s.operation()),
                    Value::BOOLEAN(table.metadata->current_snapshot_id == s.snapshot_id),
                    OrNull(s.schema_id, [](int id) { return Value::INTEGER(id); }),
                    Value(s.manifest_list), TextMap(s.summary, LogicalType::VARCHAR)});
  }
  return rows;
}

Rows HistoryRows(const TableVersion& table) {
  const std::set<int64_t> ancestors = Ancestors(*table.metadata);
  Rows rows;
  for (const auto& entry : table.metadata->snapshot_log) {
    const auto* snapshot = iceberg::SnapshotById(*table.metadata, entry.snapshot_id);
    rows.push_back({Instant(entry.timestamp_ms), Long(entry.snapshot_id),
                    snapshot ? OrNull(snapshot->parent_snapshot_id, Long) : Value(),
                    Value::BOOLEAN(ancestors.contains(entry.snapshot_id))});
  }
  return rows;
}

Rows RefRows(const TableVersion& table) {
  Rows rows;
  for (const auto& [name, ref] : table.metadata->refs) {
    rows.push_back({Value(name), Value(ref.type), Long(ref.snapshot_id),
                    OrNull(ref.max_ref_age_ms, Long),
                    OrNull(ref.min_snapshots_to_keep, [](int n) { return Value::INTEGER(n); }),
                    OrNull(ref.max_snapshot_age_ms, Long)});
  }
  return rows;
}

LogicalType PartitionBoundsType() {
  return LogicalType::LIST(LogicalType::STRUCT({{"field", LogicalType::VARCHAR},
                                                {"contains_null", LogicalType::BOOLEAN},
                                                {"lower_bound", LogicalType::VARCHAR},
                                                {"upper_bound", LogicalType::VARCHAR}}));
}

// The bound of a partition field, as it stands in the names of folders.
Value PartitionBound(const iceberg::Schema& schema, const iceberg::PartitionField& field,
                     const std::optional<std::string>& bytes) {
  const iceberg::Field* source = iceberg::FindFieldById(schema, field.source_id);
  if (!bytes || !source) return Value(LogicalType::VARCHAR);
  const auto value = iceberg::FromBytes(iceberg::ResultType(field.transform, source->type), *bytes);
  if (!value.ok()) return Value(LogicalType::VARCHAR);
  return Value(iceberg::PartitionText(field.transform, source->type, *value));
}

Value PartitionBounds(const TableVersion& table, const iceberg::ManifestFile& manifest) {
  duckdb::vector<Value> bounds;
  const auto* spec = iceberg::SpecById(*table.metadata, manifest.partition_spec_id);
  for (size_t i = 0; spec && i < manifest.partitions.size() && i < spec->fields.size(); ++i) {
    const iceberg::FieldSummary& summary = manifest.partitions[i];
    const iceberg::PartitionField& field = spec->fields[i];
    bounds.push_back(Value::STRUCT(
        {{"field", Value(field.name)},
         {"contains_null", Value::BOOLEAN(summary.contains_null)},
         {"lower_bound", PartitionBound(*table.schema, field, summary.lower_bound)},
         {"upper_bound", PartitionBound(*table.schema, field, summary.upper_bound)}}));
  }
  return Value::LIST(duckdb::ListType::GetChildType(PartitionBoundsType()), std::move(bounds));
}

Result<Rows> ManifestRowsOf(const TableVersion& table) {
  Rows rows;
  if (!table.snapshot) return rows;
  TL_ASSIGN_OR_RAISE(const auto manifests, table::ReadRows(table.env, *table.snapshot));
  for (const iceberg::ManifestFile& m : *manifests) {
    const bool deletes = m.content == iceberg::ManifestContent::kDeletes;
    rows.push_back(
        {Value(deletes ? "deletes" : "data"), Value(m.manifest_path), Long(m.manifest_length),
         Value::INTEGER(m.partition_spec_id), Long(m.sequence_number), Long(m.min_sequence_number),
         Long(m.added_snapshot_id), Count(m.added_files_count), Count(m.existing_files_count),
         Count(m.deleted_files_count), Count(m.added_rows_count), Count(m.existing_rows_count),
         Count(m.deleted_rows_count), PartitionBounds(table, m)});
  }
  return rows;
}

std::string ContentText(iceberg::FileContent content) {
  switch (content) {
    case iceberg::FileContent::kData: return "data";
    case iceberg::FileContent::kPositionDeletes: return "position-deletes";
    case iceberg::FileContent::kEqualityDeletes: return "equality-deletes";
  }
  return "unknown";
}

std::string PartitionOf(const TableVersion& table, const iceberg::Manifest& manifest,
                        const iceberg::DataFile& file) {
  const auto path =
      iceberg::PartitionPath(manifest.header.spec, manifest.header.schema, file.partition);
  if (path.ok()) return *path;
  const auto now = iceberg::PartitionPath(manifest.header.spec, *table.schema, file.partition);
  return now.ok() ? *now : "";
}

Value CountsByColumn(const TableVersion& table, const std::map<int, int64_t>& counts) {
  std::map<std::string, std::string> named;
  for (const auto& [id, count] : counts) {
    const auto* field = iceberg::FindFieldById(*table.schema, id);
    if (field) named[field->name] = std::to_string(count);
  }
  return TextMap(named, LogicalType::BIGINT);
}

Value BoundsByColumn(const TableVersion& table, const std::map<int, std::string>& bounds) {
  std::map<std::string, std::string> named;
  for (const auto& [id, bytes] : bounds) {
    const auto* field = iceberg::FindFieldById(*table.schema, id);
    if (!field || !field->type.is_primitive()) continue;
    const auto value = iceberg::FromBytes(field->type, bytes);
    if (!value.ok()) continue;
    const auto* text = std::get_if<std::string>(&*value);
    const bool plain = text && field->type.id == iceberg::TypeId::kString;
    named[field->name] = plain ? *text : iceberg::ToText(field->type, *value);
  }
  return TextMap(named, LogicalType::VARCHAR);
}

MetadataRow FileRow(const TableVersion& table, const iceberg::Manifest& manifest,
                    const iceberg::ManifestEntry& entry) {
  const iceberg::DataFile& file = entry.file;
  return {Value(ContentText(file.content)),
          Value(file.file_path),
          Value(file.file_format),
          Value(PartitionOf(table, manifest, file)),
          Value::INTEGER(manifest.header.spec.spec_id),
          OrNull(file.sort_order_id, [](int id) { return Value::INTEGER(id); }),
          Long(file.record_count),
          Long(file.file_size_in_bytes),
          OrNull(entry.sequence_number, Long),
          OrNull(entry.snapshot_id, Long),
          TimeValue(table, TimeBound(table, file.lower_bounds)),
          TimeValue(table, TimeBound(table, file.upper_bounds)),
          CountsByColumn(table, file.column_sizes),
          CountsByColumn(table, file.null_value_counts),
          BoundsByColumn(table, file.lower_bounds),
          BoundsByColumn(table, file.upper_bounds)};
}

// Calls `visit` for the live entries of one manifest after the other.
class ManifestWalk {
 public:
  explicit ManifestWalk(Table table) : table_(std::move(table)) {}

  const TableVersion& table() const { return *table_; }

  template <typename Visit>
  Result<bool> Next(const Visit& visit) {
    if (!manifests_) {
      if (!table_->snapshot) return false;
      TL_ASSIGN_OR_RAISE(manifests_, table::ReadRows(table_->env, *table_->snapshot));
    }
    if (next_ == manifests_->size()) return false;
    TL_ASSIGN_OR_RAISE(const auto manifest,
                       table::ReadEntries(table_->env, (*manifests_)[next_++]));
    for (const auto& entry : manifest->entries) {
      if (entry.status != iceberg::EntryStatus::kDeleted) visit(*manifest, entry);
    }
    return true;
  }

 private:
  const Table table_;
  std::shared_ptr<const table::ManifestRows> manifests_;
  size_t next_ = 0;
};

struct PartitionTotals {
  int64_t files = 0, rows = 0, bytes = 0, delete_files = 0;
  std::optional<int64_t> min_time, max_time;
  bool times_known = true;
};

void Add(const TableVersion& table, const iceberg::DataFile& file, PartitionTotals* totals) {
  if (file.content != iceberg::FileContent::kData) {
    ++totals->delete_files;
    return;
  }
  ++totals->files;
  totals->rows += file.record_count;
  totals->bytes += file.file_size_in_bytes;
  const auto low = TimeBound(table, file.lower_bounds);
  const auto high = TimeBound(table, file.upper_bounds);
  if (!low || !high) totals->times_known = false;
  if (low) totals->min_time = std::min(totals->min_time.value_or(*low), *low);
  if (high) totals->max_time = std::max(totals->max_time.value_or(*high), *high);
}

Result<Rows> PartitionRows(const Table& table) {
  std::map<std::pair<int, std::string>, PartitionTotals> partitions;
  ManifestWalk walk(table);
  bool more = true;
  while (more) {
    TL_ASSIGN_OR_RAISE(more, walk.Next([&](const auto& manifest, const auto& entry) {
      Add(*table, entry.file,
          &partitions[{manifest.header.spec.spec_id, PartitionOf(*table, manifest, entry.file)}]);
    }));
  }
  Rows rows;
  for (const auto& [key, totals] : partitions) {
    const bool known = totals.times_known;
    rows.push_back({Value(key.second), Value::INTEGER(key.first), Long(totals.rows),
                    Long(totals.files), Long(totals.bytes), Long(totals.delete_files),
                    TimeValue(*table, known ? totals.min_time : std::nullopt),
                    TimeValue(*table, known ? totals.max_time : std::nullopt)});
  }
  return rows;
}

Result<Rows> AllRows(MetadataKind kind, const Table& table) {
  switch (kind) {
    case MetadataKind::kSnapshots: return SnapshotRows(*table);
    case MetadataKind::kHistory: return HistoryRows(*table);
    case MetadataKind::kRefs: return RefRows(*table);
    case MetadataKind::kManifests: return ManifestRowsOf(*table);
    case MetadataKind::kPartitions: return PartitionRows(table);
    case MetadataKind::kFiles: break;
  }
  return Rows();
}

}  // namespace

MetadataSource MetadataRows(MetadataKind kind, Table table) {
  if (kind == MetadataKind::kFiles) {
    return [walk = std::make_shared<ManifestWalk>(std::move(table))](Rows* rows) {
      rows->clear();
      return walk->Next([&](const auto& manifest, const auto& entry) {
        rows->push_back(FileRow(walk->table(), manifest, entry));
      });
    };
  }
  return [kind, table = std::move(table), done = false](Rows* rows) mutable -> Result<bool> {
    rows->clear();
    if (std::exchange(done, true)) return false;
    TL_ASSIGN_OR_RAISE(*rows, AllRows(kind, table));
    return true;
  };
}

std::vector<MetadataColumn> MetadataColumns(MetadataKind kind, const TableVersion& table) {
  const LogicalType text = LogicalType::VARCHAR, number = LogicalType::BIGINT;
  const LogicalType small = LogicalType::INTEGER, flag = LogicalType::BOOLEAN;
  const LogicalType instant = LogicalType::TIMESTAMP_TZ;
  const LogicalType texts = LogicalType::MAP(text, text), numbers = LogicalType::MAP(text, number);
  switch (kind) {
    case MetadataKind::kSnapshots:
      return {{"snapshot_id", number, "id, for AT (VERSION => id)"},
              {"parent_id", number, "snapshot that it was made from"},
              {"sequence_number", number, "order of commits"},
              {"committed_at", instant, "time of the commit, milliseconds"},
              {"operation", text, "append, replace, overwrite or delete"},
              {"is_current", flag, "whether the table's rows are this snapshot's"},
              {"schema_id", small, "schema in force"},
              {"manifest_list", text, "URI"},
              {"summary", texts, "what the writer noted: totals, batch id, index"}};
    case MetadataKind::kHistory:
      return {{"made_current_at", instant, "since when the snapshot was the current one"},
              {"snapshot_id", number, "it may have expired since"},
              {"parent_id", number, "of a snapshot that is still there"},
              {"is_current_ancestor", flag, "whether the current snapshot grew from it"}};
    case MetadataKind::kRefs:
      return {{"name", text, "of the branch or tag, for AT (VERSION => 'name')"},
              {"type", text, "branch or tag"},
              {"snapshot_id", number, "head of the branch"},
              {"max_reference_age_in_ms", number, "milliseconds until the name may expire"},
              {"min_snapshots_to_keep", small, "on the branch"},
              {"max_snapshot_age_in_ms", number, "milliseconds until snapshots may expire"}};
    case MetadataKind::kManifests:
      return {{"content", text, "data or deletes"},
              {"path", text, "URI"},
              {"length", number, "bytes"},
              {"partition_spec_id", small, "partitioning of its files"},
              {"sequence_number", number, "of the commit that wrote it"},
              {"min_sequence_number", number, "lowest of its live files"},
              {"added_snapshot_id", number, "snapshot that wrote it"},
              {"added_files", number, "files; NULL where the list does not say"},
              {"existing_files", number, "files"},
              {"deleted_files", number, "files"},
              {"added_rows", number, "rows"},
              {"existing_rows", number, "rows"},
              {"deleted_rows", number, "rows"},
              {"partitions", PartitionBoundsType(), "bounds of each partition field, as in paths"}};
    case MetadataKind::kFiles:
      return {{"content", text, "data, position-deletes or equality-deletes"},
              {"file_path", text, "URI"},
              {"file_format", text, "PARQUET"},
              {"partition", text, "as in the path: time_day=2026-01-03; empty without partitions"},
              {"spec_id", small, "partitioning"},
              {"sort_order_id", small, "order of its rows"},
              {"record_count", number, "rows, before deletes and dedup"},
              {"file_size_in_bytes", number, "bytes"},
              {"sequence_number", number, "order of writes: the higher one wins"},
              {"snapshot_id", number, "snapshot that added it"},
              {"min_time", TimeType(table), "of the time column"},
              {"max_time", TimeType(table), "of the time column"},
              {"column_sizes", numbers, "compressed bytes by column"},
              {"null_value_counts", numbers, "NULLs by column"},
              {"lower_bounds", texts, "by column, as text; text values may be cut short"},
              {"upper_bounds", texts, "by column, as text; text values may be cut and rounded up"}};
    case MetadataKind::kPartitions:
      return {{"partition", text, "as in the paths of its files; empty without partitions"},
              {"spec_id", small, "partitioning"},
              {"record_count", number, "rows, before deletes and dedup"},
              {"file_count", number, "data files"},
              {"total_size_in_bytes", number, "bytes of the data files"},
              {"delete_file_count", number, "files of deletes"},
              {"min_time", TimeType(table), "of the time column"},
              {"max_time", TimeType(table), "of the time column"}};
  }
  return {};
}

}  // namespace timelake::sql

#include "iceberg/json_tree.h"
#include "iceberg/metadata.h"
#include "iceberg/schema_json.h"

namespace timelake::iceberg {
namespace {

void WriteStrings(const std::map<std::string, std::string>& strings, JsonWriter* writer) {
  writer->BeginObject();
  for (const auto& [name, text] : strings) writer->Member(name, text);
  writer->EndObject();
}

void WriteSnapshot(const Snapshot& snapshot, JsonWriter* writer) {
  writer->BeginObject();
  writer->Member("snapshot-id", snapshot.snapshot_id);
  if (snapshot.parent_snapshot_id) {
    writer->Member("parent-snapshot-id", *snapshot.parent_snapshot_id);
  }
  writer->Member("sequence-number", snapshot.sequence_number);
  writer->Member("timestamp-ms", snapshot.timestamp_ms);
  if (!snapshot.manifest_list.empty()) writer->Member("manifest-list", snapshot.manifest_list);
  if (!snapshot.manifests.empty()) {
    writer->Key("manifests");
    writer->BeginArray();
    for (const std::string& uri : snapshot.manifests) writer->String(uri);
    writer->EndArray();
  }
  if (!snapshot.summary.empty()) {
    writer->Key("summary");
    writer->Raw(snapshot.summary.Json());
  }
  if (snapshot.schema_id) writer->Member("schema-id", *snapshot.schema_id);
  writer->Members(snapshot.unknown);
  writer->EndObject();
}

void WriteRef(const SnapshotRef& ref, JsonWriter* writer) {
  writer->BeginObject();
  writer->Member("snapshot-id", ref.snapshot_id);
  writer->Member("type", ref.type);
  if (ref.min_snapshots_to_keep) {
    writer->Member("min-snapshots-to-keep", *ref.min_snapshots_to_keep);
  }
  if (ref.max_snapshot_age_ms) writer->Member("max-snapshot-age-ms", *ref.max_snapshot_age_ms);
  if (ref.max_ref_age_ms) writer->Member("max-ref-age-ms", *ref.max_ref_age_ms);
  writer->Members(ref.unknown);
  writer->EndObject();
}

template <typename T, typename Write>
void WriteArray(std::string_view name, const std::vector<T>& values, JsonWriter* writer,
                Write write) {
  writer->Key(name);
  writer->BeginArray();
  for (const T& value : values) write(value, writer);
  writer->EndArray();
}

void WriteLogs(const TableMetadata& metadata, JsonWriter* writer) {
  WriteArray("snapshot-log", metadata.snapshot_log, writer,
             [](const SnapshotLogEntry& entry, JsonWriter* out) {
               out->BeginObject();
               out->Member("snapshot-id", entry.snapshot_id);
               out->Member("timestamp-ms", entry.timestamp_ms);
               out->EndObject();
             });
  WriteArray("metadata-log", metadata.metadata_log, writer,
             [](const MetadataLogEntry& entry, JsonWriter* out) {
               out->BeginObject();
               out->Member("metadata-file", entry.metadata_file);
               out->Member("timestamp-ms", entry.timestamp_ms);
               out->EndObject();
             });
}

}  // namespace

std::string WriteMetadata(const TableMetadata& metadata) {
  // Members in the order of the specification's table "Table Metadata Fields".
  JsonWriter writer;
  writer.BeginObject();
  writer.Member("format-version", kFormatVersion);
  writer.Member("table-uuid", metadata.table_uuid);
  writer.Member("location", metadata.location);
  writer.Member("last-sequence-number", metadata.last_sequence_number);
  writer.Member("last-updated-ms", metadata.last_updated_ms);
  writer.Member("last-column-id", metadata.last_column_id);
  WriteArray("schemas", metadata.schemas, &writer, WriteSchema);
  writer.Member("current-schema-id", metadata.current_schema_id);
  WriteArray("partition-specs", metadata.partition_specs, &writer, WriteSpec);
  writer.Member("default-spec-id", metadata.default_spec_id);
  writer.Member("last-partition-id", metadata.last_partition_id);
  writer.Key("properties");
  WriteStrings(metadata.properties, &writer);
  // -1 for "none", as Iceberg's Java library writes it: the form that every reader knows.
  writer.Member("current-snapshot-id", metadata.current_snapshot_id.value_or(-1));
  WriteArray("snapshots", metadata.snapshots, &writer, WriteSnapshot);
  WriteLogs(metadata, &writer);
  WriteArray("sort-orders", metadata.sort_orders, &writer, WriteSortOrder);
  writer.Member("default-sort-order-id", metadata.default_sort_order_id);
  writer.Key("refs");
  writer.BeginObject();
  for (const auto& [name, ref] : metadata.refs) {
    writer.Key(name);
    WriteRef(ref, &writer);
  }
  writer.EndObject();
  writer.Members(metadata.unknown);
  writer.EndObject();
  return writer.Take();
}

}  // namespace timelake::iceberg

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "iceberg/json_fields.h"
#include "iceberg/partition.h"
#include "iceberg/schema.h"
#include "iceberg/summary.h"

namespace timelake::iceberg {

inline constexpr int kFormatVersion = 2;
inline constexpr int kFirstPartitionFieldId = 1000;

// Iceberg specification, "Snapshots".
struct Snapshot {
  int64_t snapshot_id = 0;
  std::optional<int64_t> parent_snapshot_id;
  int64_t sequence_number = 0;  // 0 in format version 1
  int64_t timestamp_ms = 0;
  std::string manifest_list;                   // URI; empty only in version 1 with `manifests`
  std::vector<std::string> manifests;          // version 1 only
  Summary summary;                             // includes "operation"
  std::optional<int> schema_id;
  UnknownFields unknown;

  std::string operation() const {
    auto it = summary.find("operation");
    return it == summary.end() ? "" : it->second;
  }
};

struct SnapshotLogEntry {
  int64_t timestamp_ms = 0;
  int64_t snapshot_id = 0;
};

struct MetadataLogEntry {
  int64_t timestamp_ms = 0;
  std::string metadata_file;
};

struct SnapshotRef {
  int64_t snapshot_id = 0;
  std::string type;  // "branch" or "tag"
  std::optional<int32_t> min_snapshots_to_keep;
  std::optional<int64_t> max_snapshot_age_ms;
  std::optional<int64_t> max_ref_age_ms;
  UnknownFields unknown;
};

// Iceberg specification, "Table Metadata Fields". A version 1 file is read into the same form
// (`format_version` 1) and written as version 2.
struct TableMetadata {
  int format_version = kFormatVersion;
  std::string table_uuid;
  std::string location;  // URI without trailing slash
  int64_t last_sequence_number = 0;
  int64_t last_updated_ms = 0;
  int last_column_id = 0;
  std::vector<Schema> schemas;
  int current_schema_id = 0;
  std::vector<PartitionSpec> partition_specs;
  int default_spec_id = 0;
  int last_partition_id = 999;
  std::map<std::string, std::string> properties;
  std::optional<int64_t> current_snapshot_id;
  std::vector<Snapshot> snapshots;
  std::vector<SnapshotLogEntry> snapshot_log;
  std::vector<MetadataLogEntry> metadata_log;
  std::vector<SortOrder> sort_orders;
  int default_sort_order_id = 0;
  std::map<std::string, SnapshotRef> refs;
  UnknownFields unknown;  // "statistics", "partition-statistics" and what is yet to come
};

// Never null after ReadMetadata succeeded (it checks that the current ids exist).
const Schema* CurrentSchema(const TableMetadata& metadata);
const Schema* SchemaById(const TableMetadata& metadata, int id);
const PartitionSpec* DefaultSpec(const TableMetadata& metadata);
const PartitionSpec* SpecById(const TableMetadata& metadata, int id);
const SortOrder* DefaultSortOrder(const TableMetadata& metadata);
const Snapshot* SnapshotById(const TableMetadata& metadata, int64_t id);
const Snapshot* CurrentSnapshot(const TableMetadata& metadata);  // null when the table is empty

// Parses one vN.metadata.json, format version 1 or 2 (gzip-compressed as well: magic 1f 8b).
// Numbers are exact 64-bit: 9223372036854775808, 4.59e+18, null or a missing required id ->
// kCorrupt naming the JSON field. Version 3 and up -> kUnsupported. Messages name `source` (the
// file).
Result<TableMetadata> ReadMetadata(std::string_view json, std::string_view source);

// Always format version 2, members in the specification's order, unknown members last.
std::string WriteMetadata(const TableMetadata& metadata);

// JSON of a schema ("schema" header key of a manifest) and of the fields of a spec
// ("partition-spec").
std::string SchemaToJson(const Schema& schema);
Result<Schema> SchemaFromJson(std::string_view json, std::string_view source);
std::string SpecFieldsToJson(const PartitionSpec& spec);
Result<std::vector<PartitionField>> SpecFieldsFromJson(std::string_view json,
                                                       std::string_view source);

}  // namespace timelake::iceberg

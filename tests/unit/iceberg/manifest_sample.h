#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "iceberg/manifest.h"
#include "iceberg/partition.h"
#include "iceberg/schema.h"

// A manifest with something of everything, and comparison of manifests, for tests and for the
// program that other readers are tried on.

namespace timelake::iceberg {

inline std::string_view ViewOf(const std::shared_ptr<arrow::Buffer>& buffer) {
  return static_cast<std::string_view>(*buffer);
}

inline Field SampleField(int id, std::string name, std::string_view type, bool required = false) {
  Field field;
  field.id = id;
  field.name = std::move(name);
  field.required = required;
  field.type = ParseType(type).ValueOrDie();
  return field;
}

inline PartitionField SamplePartitionField(int source, int id, std::string name,
                                           std::string_view transform) {
  PartitionField field;
  field.source_id = source;
  field.field_id = id;
  field.name = std::move(name);
  field.transform = ParseTransform(transform);
  return field;
}

inline Schema SampleSchema() {
  Schema schema;
  schema.schema_id = 3;
  schema.fields = {
      SampleField(1, "time", "timestamptz", true),
      SampleField(2, "device", "string"),
      SampleField(3, "v", "double"),
      SampleField(4, "n", "int"),
      SampleField(5, "price", "decimal(9,2)"),
      SampleField(6, "id", "uuid"),
      SampleField(7, "code", "fixed[4]"),
      SampleField(8, "ok", "boolean"),
      SampleField(9, "local", "timestamp"),
      SampleField(10, "raw", "binary"),
      SampleField(11, "f", "float"),
      SampleField(12, "day", "date"),
      SampleField(13, "clock", "time"),
      SampleField(14, "cost", "decimal(9,2)"),
  };
  return schema;
}

// One field of every kind of value, names that Avro does not allow, and a decimal type twice.
inline PartitionSpec SampleSpec() {
  PartitionSpec spec;
  spec.spec_id = 2;
  spec.fields = {
      SamplePartitionField(1, 1000, "time_day", "day"),
      SamplePartitionField(2, 1001, "device", "identity"),
      SamplePartitionField(3, 1002, "v", "identity"),
      SamplePartitionField(4, 1003, "4 n_bucket", "bucket[16]"),
      SamplePartitionField(5, 1004, "price", "identity"),
      SamplePartitionField(6, 1005, "id", "identity"),
      SamplePartitionField(7, 1006, "code", "identity"),
      SamplePartitionField(8, 1007, "ok", "identity"),
      SamplePartitionField(9, 1008, "local", "identity"),
      SamplePartitionField(1, 1009, "time", "identity"),
      SamplePartitionField(10, 1010, "raw", "identity"),
      SamplePartitionField(11, 1011, "f", "identity"),
      SamplePartitionField(12, 1012, "day", "identity"),
      SamplePartitionField(13, 1013, "clock", "identity"),
      SamplePartitionField(14, 1014, "cost", "identity"),
      SamplePartitionField(1, 1015, "time_hour", "hour"),
  };
  return spec;
}

inline std::vector<Value> SamplePartition() {
  using std::string;
  return {int32_t{20456},
          string("dev/app 1#x"),
          -0.5,
          int32_t{7},
          arrow::Decimal128(-1234),
          string("0123456789abcdef"),
          string("\x00\xFF\x01\x02", 4),
          true,
          int64_t{-1},
          int64_t{1767225600000000},
          string("\x80\x00", 2),
          1.5f,
          int32_t{-1},
          int64_t{86399999999},
          arrow::Decimal128(99),
          int32_t{490944}};
}

inline ManifestHeader SampleHeader() {
  ManifestHeader header;
  header.schema = SampleSchema();
  header.spec = SampleSpec();
  return header;
}

inline ManifestEntry SampleEntry(int number) {
  ManifestEntry entry;
  DataFile& file = entry.file;
  file.file_path =
      "file:///lake/a/t/data/time_day=2026-01-03/" + std::to_string(number) + ".parquet";
  file.partition = SamplePartition();
  file.record_count = 1000 + number;
  file.file_size_in_bytes = 123456789012;
  for (int id = 1; id <= 6; ++id) {
    file.column_sizes[id] = 100 * id;
    file.value_counts[id] = 1000;
    file.null_value_counts[id] = id - 1;
    file.lower_bounds[id] = std::string(static_cast<size_t>(id), static_cast<char>(id));
    file.upper_bounds[id] = std::string("\xFF\x00", 2) + std::string(20, 'z');
  }
  file.nan_value_counts[3] = 0;
  file.split_offsets = {4, 134217728};
  file.sort_order_id = 1;
  return entry;
}

// Added (inheriting), added with an explicit data sequence number, existing, deleted, without
// metrics and with null partition values.
inline std::vector<ManifestEntry> SampleEntries() {
  std::vector<ManifestEntry> entries;
  for (int i = 0; i < 5; ++i) entries.push_back(SampleEntry(i));
  entries[0].snapshot_id = 5184430069070270604;
  entries[1].sequence_number = 4;
  entries[2].status = EntryStatus::kExisting;
  entries[2].snapshot_id = std::numeric_limits<int64_t>::max();
  entries[2].sequence_number = entries[2].file_sequence_number = 3;
  entries[3].status = EntryStatus::kDeleted;
  entries[3].snapshot_id = 1;
  entries[3].sequence_number = entries[3].file_sequence_number = 2;
  DataFile bare;
  bare.file_path = "s3://bucket/t/data/%20 \xC3\xA9.parquet";
  bare.partition.resize(SampleSpec().fields.size());
  entries[4].file = bare;
  return entries;
}

inline auto Tied(const DataFile& f) {
  return std::tie(f.content, f.file_path, f.file_format, f.partition, f.record_count,
                  f.file_size_in_bytes, f.column_sizes, f.value_counts, f.null_value_counts,
                  f.nan_value_counts, f.lower_bounds, f.upper_bounds, f.key_metadata,
                  f.split_offsets, f.equality_ids, f.sort_order_id, f.referenced_data_file);
}
inline bool operator==(const DataFile& a, const DataFile& b) { return Tied(a) == Tied(b); }
inline bool operator==(const ManifestEntry& a, const ManifestEntry& b) {
  return std::tie(a.status, a.snapshot_id, a.sequence_number, a.file_sequence_number, a.file) ==
         std::tie(b.status, b.snapshot_id, b.sequence_number, b.file_sequence_number, b.file);
}
inline bool operator==(const FieldSummary& a, const FieldSummary& b) {
  return std::tie(a.contains_null, a.contains_nan, a.lower_bound, a.upper_bound) ==
         std::tie(b.contains_null, b.contains_nan, b.lower_bound, b.upper_bound);
}
inline auto Tied(const ManifestFile& r) {
  return std::tie(r.manifest_path, r.manifest_length, r.partition_spec_id, r.content,
                  r.sequence_number, r.min_sequence_number, r.added_snapshot_id,
                  r.added_files_count, r.existing_files_count, r.deleted_files_count,
                  r.added_rows_count, r.existing_rows_count, r.deleted_rows_count, r.partitions,
                  r.key_metadata);
}
inline bool operator==(const ManifestFile& a, const ManifestFile& b) { return Tied(a) == Tied(b); }

}  // namespace timelake::iceberg

#pragma once

#include <string_view>

// Field ids and names of manifests and manifest lists (Iceberg specification, "Manifests" and
// "Manifest Lists") and the keys of their Avro headers. On disk; never change them.

namespace timelake::iceberg {

struct FieldKey {
  int id;
  std::string_view name;
};

// --- manifest_entry ---
inline constexpr FieldKey kStatus{0, "status"};
inline constexpr FieldKey kSnapshotId{1, "snapshot_id"};
inline constexpr FieldKey kDataFile{2, "data_file"};
inline constexpr FieldKey kSequenceNumber{3, "sequence_number"};
inline constexpr FieldKey kFileSequenceNumber{4, "file_sequence_number"};

// --- data_file ---
inline constexpr FieldKey kContent{134, "content"};
inline constexpr FieldKey kFilePath{100, "file_path"};
inline constexpr FieldKey kFileFormat{101, "file_format"};
inline constexpr FieldKey kPartition{102, "partition"};
inline constexpr FieldKey kRecordCount{103, "record_count"};
inline constexpr FieldKey kFileSize{104, "file_size_in_bytes"};
// 105 block_size_in_bytes: version 1 only, without meaning.
inline constexpr FieldKey kColumnSizes{108, "column_sizes"};
inline constexpr FieldKey kValueCounts{109, "value_counts"};
inline constexpr FieldKey kNullValueCounts{110, "null_value_counts"};
inline constexpr FieldKey kNanValueCounts{137, "nan_value_counts"};
inline constexpr FieldKey kLowerBounds{125, "lower_bounds"};
inline constexpr FieldKey kUpperBounds{128, "upper_bounds"};
inline constexpr FieldKey kKeyMetadata{131, "key_metadata"};
inline constexpr FieldKey kSplitOffsets{132, "split_offsets"};
inline constexpr FieldKey kEqualityIds{135, "equality_ids"};
inline constexpr FieldKey kSortOrderId{140, "sort_order_id"};
inline constexpr FieldKey kReferencedDataFile{143, "referenced_data_file"};

// Keys and values of the maps, elements of the lists.
struct PairIds {
  int key;
  int value;
};
inline constexpr PairIds kColumnSizesPair{117, 118};
inline constexpr PairIds kValueCountsPair{119, 120};
inline constexpr PairIds kNullValueCountsPair{121, 122};
inline constexpr PairIds kNanValueCountsPair{138, 139};
inline constexpr PairIds kLowerBoundsPair{126, 127};
inline constexpr PairIds kUpperBoundsPair{129, 130};
inline constexpr int kSplitOffsetsElement = 133;
inline constexpr int kEqualityIdsElement = 136;

// --- manifest_file, the rows of a manifest list ---
inline constexpr FieldKey kManifestPath{500, "manifest_path"};
inline constexpr FieldKey kManifestLength{501, "manifest_length"};
inline constexpr FieldKey kPartitionSpecId{502, "partition_spec_id"};
inline constexpr FieldKey kManifestContent{517, "content"};
inline constexpr FieldKey kManifestSequenceNumber{515, "sequence_number"};
inline constexpr FieldKey kMinSequenceNumber{516, "min_sequence_number"};
inline constexpr FieldKey kAddedSnapshotId{503, "added_snapshot_id"};
// The names of the counts of files are those of the specification since version 2; earlier writers
// say *_data_files_count. Readers that go by name accept both.
inline constexpr FieldKey kAddedFilesCount{504, "added_files_count"};
inline constexpr FieldKey kExistingFilesCount{505, "existing_files_count"};
inline constexpr FieldKey kDeletedFilesCount{506, "deleted_files_count"};
inline constexpr std::string_view kAddedFilesCountV1 = "added_data_files_count";
inline constexpr std::string_view kExistingFilesCountV1 = "existing_data_files_count";
inline constexpr std::string_view kDeletedFilesCountV1 = "deleted_data_files_count";
inline constexpr FieldKey kAddedRowsCount{512, "added_rows_count"};
inline constexpr FieldKey kExistingRowsCount{513, "existing_rows_count"};
inline constexpr FieldKey kDeletedRowsCount{514, "deleted_rows_count"};
inline constexpr FieldKey kPartitions{507, "partitions"};
inline constexpr int kPartitionsElement = 508;
inline constexpr FieldKey kManifestKeyMetadata{519, "key_metadata"};

// --- field_summary ---
inline constexpr FieldKey kContainsNull{509, "contains_null"};
inline constexpr FieldKey kContainsNan{518, "contains_nan"};
inline constexpr FieldKey kSummaryLowerBound{510, "lower_bound"};
inline constexpr FieldKey kSummaryUpperBound{511, "upper_bound"};

// Names of the Avro records; "r" and the field id, as the reference implementation has them.
inline constexpr std::string_view kEntryRecord = "manifest_entry";
inline constexpr std::string_view kDataFileRecord = "r2";
inline constexpr std::string_view kPartitionRecord = "r102";
inline constexpr std::string_view kManifestFileRecord = "manifest_file";
inline constexpr std::string_view kSummaryRecord = "r508";

// --- keys of the Avro header ---
inline constexpr std::string_view kSchemaHeader = "schema";
inline constexpr std::string_view kSchemaIdHeader = "schema-id";
inline constexpr std::string_view kSpecHeader = "partition-spec";
inline constexpr std::string_view kSpecIdHeader = "partition-spec-id";
inline constexpr std::string_view kFormatVersionHeader = "format-version";
inline constexpr std::string_view kContentHeader = "content";  // of a manifest
inline constexpr std::string_view kContentData = "data";
inline constexpr std::string_view kContentDeletes = "deletes";
inline constexpr std::string_view kSnapshotIdHeader = "snapshot-id";  // of a list, as the rest
inline constexpr std::string_view kParentSnapshotIdHeader = "parent-snapshot-id";
inline constexpr std::string_view kNoParent = "null";
inline constexpr std::string_view kSequenceNumberHeader = "sequence-number";

}  // namespace timelake::iceberg

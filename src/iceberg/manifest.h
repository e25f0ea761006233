#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/buffer.h>

#include "base/error.h"
#include "iceberg/partition.h"
#include "iceberg/schema.h"
#include "iceberg/value.h"

namespace timelake::iceberg {

enum class FileContent { kData = 0, kPositionDeletes = 1, kEqualityDeletes = 2 };
enum class EntryStatus { kExisting = 0, kAdded = 1, kDeleted = 2 };
enum class ManifestContent { kData = 0, kDeletes = 1 };

// `data_file` struct of a manifest entry (specification, "Manifests"); field ids in brackets.
struct DataFile {
  FileContent content = FileContent::kData;             // 134
  std::string file_path;                                // 100, URI
  std::string file_format = "PARQUET";                  // 101
  std::vector<Value> partition;                         // 102, one per field of the manifest's spec
  int64_t record_count = 0;                             // 103
  int64_t file_size_in_bytes = 0;                       // 104
  std::map<int, int64_t> column_sizes;                  // 108
  std::map<int, int64_t> value_counts;                  // 109
  std::map<int, int64_t> null_value_counts;             // 110
  std::map<int, int64_t> nan_value_counts;              // 137
  std::map<int, std::string> lower_bounds;              // 125, serialised (value.h)
  std::map<int, std::string> upper_bounds;              // 128
  std::optional<std::string> key_metadata;              // 131
  std::vector<int64_t> split_offsets;                   // 132
  std::vector<int> equality_ids;                        // 135
  std::optional<int> sort_order_id;                     // 140
  std::optional<std::string> referenced_data_file;      // 143
};

struct ManifestEntry {
  EntryStatus status = EntryStatus::kAdded;             // 0
  std::optional<int64_t> snapshot_id;                   // 1; null: inherit
  std::optional<int64_t> sequence_number;               // 3; null: inherit (only kAdded)
  std::optional<int64_t> file_sequence_number;          // 4; null: inherit (only kAdded)
  DataFile file;                                        // 2
};

// A count that a version 1 manifest list does not record. Such a manifest may hold anything.
inline constexpr int64_t kUnknownCount = -1;

struct FieldSummary {  // 508
  bool contains_null = false;                           // 509
  std::optional<bool> contains_nan;                     // 518
  std::optional<std::string> lower_bound;               // 510, of the partition value
  std::optional<std::string> upper_bound;               // 511
};

// One row of a manifest list (specification, "Manifest Lists").
struct ManifestFile {
  std::string manifest_path;                            // 500, URI
  int64_t manifest_length = 0;                          // 501
  int partition_spec_id = 0;                            // 502
  ManifestContent content = ManifestContent::kData;     // 517
  int64_t sequence_number = 0;                          // 515
  int64_t min_sequence_number = 0;                      // 516
  int64_t added_snapshot_id = 0;                        // 503
  int64_t added_files_count = 0;                        // 504; this and the next: or kUnknownCount
  int64_t existing_files_count = 0;                     // 505
  int64_t deleted_files_count = 0;                      // 506
  int64_t added_rows_count = 0;                         // 512
  int64_t existing_rows_count = 0;                      // 513
  int64_t deleted_rows_count = 0;                       // 514
  std::vector<FieldSummary> partitions;                 // 507
  std::optional<std::string> key_metadata;              // 519
};

struct ManifestHeader {
  Schema schema;
  PartitionSpec spec;
  ManifestContent content = ManifestContent::kData;
  int format_version = 2;
};

struct Manifest {
  ManifestHeader header;
  std::vector<ManifestEntry> entries;
};

// Avro bytes of a manifest, codec null, with all field ids and header keys (`schema`, `schema-id`,
// `partition-spec`, `partition-spec-id`, `format-version`, `content`). Always format version 2.
// kInvalidArgument naming the file of an entry that readers could not take: no path, a partition
// value of another type, an entry that is not new without snapshot id or sequence number. Equal
// input gives equal bytes.
Result<std::shared_ptr<arrow::Buffer>> WriteManifest(const ManifestHeader& header,
                                                     const std::vector<ManifestEntry>& entries);

// Reads a manifest of format version 1 or 2 by any writer (codecs null, deflate, zstd, snappy;
// unknown fields skipped; fields by id). Partition values are typed by `header.spec` and
// `header.schema` as recorded in the file, by their Avro type where these do not tell. kCorrupt
// names `source`, the field and the byte.
Result<Manifest> ReadManifest(std::string_view bytes, std::string_view source);

// Fills what entries inherit from their manifest-list row: snapshot id, sequence numbers
// (specification, "Sequence Number Inheritance"). Version 1 manifests get sequence number 0.
void Inherit(const ManifestFile& row, std::vector<ManifestEntry>* entries);

// Row of the manifest list for entries just written: counts, partition summaries, and
// min_sequence_number = the lowest data sequence number of the live entries, explicit ones included
// (COMMIT "Order of writes"); entries that inherit count as `sequence_number`.
Result<ManifestFile> DescribeManifest(const ManifestHeader& header,
                                      const std::vector<ManifestEntry>& entries,
                                      const std::string& uri, int64_t length,
                                      int64_t snapshot_id, int64_t sequence_number);

struct ManifestListHeader {
  int64_t snapshot_id = 0;
  std::optional<int64_t> parent_snapshot_id;
  int64_t sequence_number = 0;
};

Result<std::shared_ptr<arrow::Buffer>> WriteManifestList(const ManifestListHeader& header,
                                                         const std::vector<ManifestFile>& rows);
// Format version 1 or 2, any writer.
Result<std::vector<ManifestFile>> ReadManifestList(std::string_view bytes, std::string_view source);

}  // namespace timelake::iceberg

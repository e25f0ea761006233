#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "iceberg/manifest.h"
#include "iceberg/manifest_partition.h"

namespace timelake::iceberg {
namespace {

bool IsNan(const Value& value) {
  if (const auto* number = std::get_if<float>(&value)) return std::isnan(*number);
  if (const auto* number = std::get_if<double>(&value)) return std::isnan(*number);
  return false;
}

// Over all entries, deleted ones included. NaN takes no part in the bounds; a field without bounds
// holds nothing but null and NaN.
Result<FieldSummary> Summarize(const Type& type, const std::vector<ManifestEntry>& entries,
                               size_t index) {
  FieldSummary summary;
  summary.contains_nan = false;
  const Value* lowest = nullptr;
  const Value* highest = nullptr;
  for (const ManifestEntry& entry : entries) {
    const Value& value = entry.file.partition[index];
    if (IsNull(value)) {
      summary.contains_null = true;
    } else if (IsNan(value)) {
      summary.contains_nan = true;
    } else {
      if (lowest == nullptr || Compare(value, *lowest) < 0) lowest = &value;
      if (highest == nullptr || Compare(value, *highest) > 0) highest = &value;
    }
  }
  if (lowest != nullptr) {
    TL_ASSIGN_OR_RAISE(summary.lower_bound, ToBytes(type, *lowest));
    TL_ASSIGN_OR_RAISE(summary.upper_bound, ToBytes(type, *highest));
  }
  return summary;
}

void Count(const std::vector<ManifestEntry>& entries, ManifestFile* row) {
  for (const ManifestEntry& entry : entries) {
    const int64_t rows = entry.file.record_count;
    switch (entry.status) {
      case EntryStatus::kAdded:
        ++row->added_files_count;
        row->added_rows_count += rows;
        break;
      case EntryStatus::kExisting:
        ++row->existing_files_count;
        row->existing_rows_count += rows;
        break;
      case EntryStatus::kDeleted:
        ++row->deleted_files_count;
        row->deleted_rows_count += rows;
        break;
    }
  }
}

}  // namespace

Result<ManifestFile> DescribeManifest(const ManifestHeader& header,
                                      const std::vector<ManifestEntry>& entries,
                                      const std::string& uri, int64_t length, int64_t snapshot_id,
                                      int64_t sequence_number) {
  ManifestFile row;
  row.manifest_path = uri;
  row.manifest_length = length;
  row.partition_spec_id = header.spec.spec_id;
  row.content = header.content;
  row.sequence_number = sequence_number;
  row.added_snapshot_id = snapshot_id;
  Count(entries, &row);

  // Without live entries nothing is older than the manifest itself.
  row.min_sequence_number = sequence_number;
  for (const ManifestEntry& entry : entries) {
    if (entry.status == EntryStatus::kDeleted) continue;
    row.min_sequence_number =
        std::min(row.min_sequence_number, entry.sequence_number.value_or(sequence_number));
  }

  const size_t fields = header.spec.fields.size();
  for (const ManifestEntry& entry : entries) {
    if (entry.file.partition.size() == fields) continue;
    return InvalidArgument("file {} has {} partition values, its spec {} fields",
                           Quote(entry.file.file_path), entry.file.partition.size(), fields);
  }
  const std::vector<Type> types = PartitionTypes(header, entries);
  for (size_t i = 0; i < fields; ++i) {
    TL_ASSIGN_OR_RAISE(FieldSummary summary, Summarize(types[i], entries, i));
    row.partitions.push_back(std::move(summary));
  }
  return row;
}

void Inherit(const ManifestFile& row, std::vector<ManifestEntry>* entries) {
  for (ManifestEntry& entry : *entries) {
    if (!entry.snapshot_id) entry.snapshot_id = row.added_snapshot_id;
    // Files of version 1 have sequence number 0, whatever their status. In version 2 only added
    // entries inherit; what else is missing stays unknown.
    if (row.sequence_number != 0 && entry.status != EntryStatus::kAdded) continue;
    if (!entry.sequence_number) entry.sequence_number = row.sequence_number;
    if (!entry.file_sequence_number) entry.file_sequence_number = row.sequence_number;
  }
}

}  // namespace timelake::iceberg

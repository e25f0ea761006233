#include "maintain/retention_due.h"

#include <algorithm>

#include "maintain/retention_plan.h"
#include "table/chunk_tiers.h"

namespace timelake::maintain {

bool RetentionDue(const table::ManifestRows& rows, const iceberg::TableMetadata& metadata,
                  int time_id, int64_t cutoff_us) {
  return std::any_of(rows.begin(), rows.end(), [&](const iceberg::ManifestFile& row) {
    const bool live = row.added_files_count != 0 || row.existing_files_count != 0;
    const iceberg::PartitionSpec* spec = iceberg::SpecById(metadata, row.partition_spec_id);
    if (!live || row.content != iceberg::ManifestContent::kData || spec == nullptr) return false;
    const iceberg::PartitionField* field = table::TimeField(*spec, time_id);
    if (field == nullptr) return false;
    const auto place = static_cast<size_t>(field - spec->fields.data());
    if (place >= row.partitions.size() || !row.partitions[place].lower_bound) return false;
    iceberg::Type ordinal;
    ordinal.id = iceberg::TypeId::kInt;
    const auto first = iceberg::FromBytes(ordinal, *row.partitions[place].lower_bound);
    if (!first.ok()) return false;
    std::vector<iceberg::Value> partition(spec->fields.size());
    partition[place] = *first;
    const auto end = PartitionEnd(*spec, partition, time_id);
    return end && *end <= cutoff_us;
  });
}

}  // namespace timelake::maintain

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "iceberg/metadata.h"
#include "timelake/options.h"

namespace timelake::table {

// Whether the partition field of time column `time` may be called so: no column is, and folders can
// be named by it.
Status CheckPartitionName(const iceberg::Schema& schema, const std::string& time,
                          const std::string& partition);

// TableOptions::partition_by as partition fields of the new table's schema, without ids. Errors
// name the text, what is wrong with it and what is accepted.
Result<std::vector<iceberg::PartitionField>> ReadPartitionBy(const iceberg::Schema& schema,
                                                             const TableOptions& options);

// The other way: the fields beside the time's, as texts; a transform that partition_by does not
// have (of a table that others made) is called by its name.
std::vector<std::string> PartitionByTexts(const iceberg::PartitionSpec& spec,
                                          const iceberg::Schema& schema,
                                          std::optional<int> time_id);

// Property `write.object-storage.enabled`.
bool HashesPaths(const iceberg::TableMetadata& metadata);

// A spec without its bucket fields.
iceberg::PartitionSpec WithoutBuckets(const iceberg::PartitionSpec& spec);

// The spec of the table that is `fine`, one of its own, without its buckets; nullopt if it has
// none, or no buckets.
std::optional<iceberg::PartitionSpec> CoarseSpec(const iceberg::TableMetadata& metadata,
                                                 const iceberg::PartitionSpec& fine);
// Of the default spec.
std::optional<iceberg::PartitionSpec> CoarseSpec(const iceberg::TableMetadata& metadata);

}  // namespace timelake::table

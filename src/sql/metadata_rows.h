#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <duckdb/common/types/value.hpp>

#include "sql/table_version.h"

namespace timelake::sql {

enum class MetadataKind { kSnapshots, kHistory, kRefs, kManifests, kFiles, kPartitions };

struct MetadataColumn {
  std::string name;
  duckdb::LogicalType type;
  std::string comment;
};

// Of a table's time column `min_time` and `max_time` have the type; a plain table has NULL there.
std::vector<MetadataColumn> MetadataColumns(MetadataKind kind, const TableVersion& table);

using MetadataRow = std::vector<duckdb::Value>;

// Rows in portions, one manifest's at a time where manifests are read: false at the end.
using MetadataSource = std::function<Result<bool>(std::vector<MetadataRow>* rows)>;
MetadataSource MetadataRows(MetadataKind kind, std::shared_ptr<const TableVersion> table);

}  // namespace timelake::sql

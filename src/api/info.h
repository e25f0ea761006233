#pragma once

#include <vector>

#include "table/handle.h"
#include "timelake/table.h"

namespace timelake::api {

// What a table's metadata tells people, at one version.
Result<TableInfo> DescribeTable(const table::Handle& handle, const table::Version& version);
std::vector<SnapshotInfo> DescribeSnapshots(const iceberg::TableMetadata& metadata);
Result<std::vector<FileInfo>> DescribeFiles(const table::Env& env,
                                            const iceberg::TableMetadata& metadata);

}  // namespace timelake::api

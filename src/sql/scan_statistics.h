#pragma once

#include <optional>

#include <duckdb/common/typedefs.hpp>
#include <duckdb/common/unique_ptr.hpp>

#include "iceberg/schema.h"
#include "iceberg/value.h"
#include "scan/scan.h"

namespace duckdb {
class BaseStatistics;
class ClientContext;
class DatabaseInstance;
class LogicalGet;
class NodeStatistics;
struct FunctionData;
}  // namespace duckdb

namespace timelake::sql {

// What DuckDB's optimiser is told of a scan, from the manifests of the files that pruning leaves.

// Rows of those files.
duckdb::unique_ptr<duckdb::NodeStatistics> ScanCardinality(duckdb::ClientContext& context,
                                                           const duckdb::FunctionData* bind_data);

// Bounds, whether there may be NULL, and an estimate of the number of different values. DuckDB
// drops filters that always hold by these, so they are never narrower than the values: a bound that
// a file does not have is no bound, and a column that may have NaN has no upper one.
duckdb::unique_ptr<duckdb::BaseStatistics> ScanStatistics(duckdb::ClientContext& context,
                                                          const duckdb::FunctionData* bind_data,
                                                          duckdb::column_t column);

// The least or greatest value that a column of such an operator may have, neither NULL nor NaN; of
// types whose bounds are never cut. Nothing if it is not known.
std::optional<iceberg::Value> PlannedBound(const duckdb::LogicalGet& get,
                                           const iceberg::Field& field, bool greatest);

// The files that pruning leaves for such an operator; null if they are not known.
const scan::FileList* PlannedFilesOf(const duckdb::LogicalGet& get);

// Has the scans of queries with joins find out how many values the key has.
void RegisterJoinStatistics(duckdb::DatabaseInstance& database);

}  // namespace timelake::sql

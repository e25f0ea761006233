#pragma once

#include <memory>

#include <duckdb/common/unique_ptr.hpp>

#include "sql/table_version.h"

namespace duckdb {
struct FunctionData;
class LogicalGet;
class TableCatalogEntry;
class TableFunction;
}  // namespace duckdb

namespace timelake::sql {

// The table function that reads a table; it cannot be called by name. Filters of one column are
// applied by the scan, to the bit as DuckDB would; the others stay above it.
// Rows come in no particular order.
duckdb::TableFunction MakeScanFunction();

// What it is bound to. `entry` may be null; it lives as long as the transaction.
duckdb::unique_ptr<duckdb::FunctionData> MakeScanBindData(std::shared_ptr<const TableVersion> table,
                                                          duckdb::TableCatalogEntry* entry);

// Whether an operator of a plan is that function.
bool IsScan(const duckdb::LogicalGet& get);

// What the function, bound so, reads; null if it is another function.
std::shared_ptr<const TableVersion> TableOf(const duckdb::TableFunction& function,
                                            const duckdb::FunctionData* bind_data);

// Of such an operator: what it reads, and another table version with the same columns for it.
std::shared_ptr<const TableVersion> TableOf(const duckdb::LogicalGet& get);
void SetTable(duckdb::LogicalGet& get, std::shared_ptr<const TableVersion> table);

}  // namespace timelake::sql

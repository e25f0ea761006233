#pragma once

#include <memory>

#include <duckdb/common/unique_ptr.hpp>

#include "sql/table_version.h"

namespace duckdb {
struct FunctionData;
class TableCatalogEntry;
class TableFunction;
}  // namespace duckdb

namespace timelake::sql {

// The table function that reads a table; it cannot be called by name. Pruning uses the filters of
// the query, but each of them stays above the scan and is evaluated there, so a row is never
// wrongly left out or let through here. Rows come in no particular order.
duckdb::TableFunction MakeScanFunction();

// What it is bound to. `entry` may be null; it lives as long as the transaction.
duckdb::unique_ptr<duckdb::FunctionData> MakeScanBindData(std::shared_ptr<const TableVersion> table,
                                                          duckdb::TableCatalogEntry* entry);

}  // namespace timelake::sql

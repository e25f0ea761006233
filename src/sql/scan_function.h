#pragma once

#include <memory>
#include <string>
#include <vector>

#include <duckdb/common/types.hpp>
#include <duckdb/common/unique_ptr.hpp>

#include "scan/run_aggregate.h"
#include "sql/row_filter.h"
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

// Aggregates over runs of rows, to be computed while the table is read.
struct ScanAggregates {
  scan::RunAggregates runs;     // their columns are positions in `columns`
  std::vector<size_t> columns;  // of the table, by position in the schema
  // Of each key, then of each value.
  std::vector<duckdb::LogicalType> types;
  std::vector<std::string> names;
  // All rows of a group are next to each other in one file, and in no other: the scan gives each
  // group once.
  bool whole = false;
};

// Lets the operator, a finished plan's, give those instead of rows: a column for each key and
// value. It keeps its filters. False, and nothing is changed, if they cannot be kept.
bool AggregateWhileReading(duckdb::LogicalGet& get, ScanAggregates aggregates);

// Of such an operator, whose files allow it (scan/whole_groups.h): groups in one piece.
void GiveWholeGroups(duckdb::LogicalGet& get);

// What such an operator computes; null of one that gives rows.
const ScanAggregates* AggregatesOf(const duckdb::LogicalGet& get);

// Only the `count` last (or first) buckets are wanted of what such an operator reads: it may leave
// out rows of others.
struct BucketLimit {
  size_t key = 0;  // of ScanAggregates::runs
  size_t count = 0;
  bool last = true;
};
void LimitBuckets(duckdb::LogicalGet& get, BucketLimit limit);
bool BucketsLimited(const duckdb::LogicalGet& get);

// Of such an operator in an optimised plan: what prunes, and the filters that the scan applies.
const scan::Predicate& PruningOf(const duckdb::LogicalGet& get);
std::vector<PushedFilter> FiltersOf(const duckdb::LogicalGet& get);

// Adds a test that rows have to pass to be of use above; rows that do not may still come.
void AddPruningTest(duckdb::LogicalGet& get, scan::ColumnTest test);

// The operator is in a query with a join.
void SetJoined(duckdb::LogicalGet& get);

// The virtual column that tells rows apart: scan::RowId as a BIGINT. For DELETE only, which sets
// where the scan notes what it read (ScanBindData::read).
duckdb::column_t RowIdColumn();

// The data files of a scan with row ids.
struct FilesRead {
  // Nothing above the scan takes rows away: files of which all rows pass its filters are not read.
  bool leave_out_whole = false;
  std::vector<scan::ScanFile> files;  // by the numbers in the row ids
  std::vector<std::string> whole;  // paths of those that were left out, as all of their rows pass
};

// Makes it the scan of a table version of one row, of which no column is asked for.
void MakeOneRow(duckdb::LogicalGet& get, std::shared_ptr<const TableVersion> table);

}  // namespace timelake::sql

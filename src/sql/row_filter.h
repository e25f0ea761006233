#pragma once

#include <memory>
#include <vector>

#include <duckdb/common/unique_ptr.hpp>

#include "iceberg/schema.h"
#include "scan/scan.h"

namespace duckdb {
class ClientContext;
class TableFilter;
class TableFilterSet;
}  // namespace duckdb

namespace timelake::sql {

// A filter that the scan applies, exactly as DuckDB would.
struct PushedFilter {
  const iceberg::Field* field = nullptr;
  std::shared_ptr<const duckdb::TableFilter> filter;
};

// Of a filter that the engine pushed down, the part to apply to rows; null if it is only a hint.
std::shared_ptr<const duckdb::TableFilter> Applied(const duckdb::TableFilter& filter);

// What pruning may conclude from them; in their order.
std::vector<scan::ColumnFilter> Describe(const std::vector<PushedFilter>& filters);

// Tests of those filters that get their value while the query runs, as far as they have one.
std::vector<scan::ColumnTest> LiveTests(const std::vector<PushedFilter>& filters);

// Evaluates them, for one thread. A column in dictionary form is filtered by its entries.
std::unique_ptr<scan::RowFilter> MakeRowFilter(duckdb::ClientContext& context,
                                               const std::vector<PushedFilter>& filters);

}  // namespace timelake::sql

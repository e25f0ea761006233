#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iceberg/schema.h"
#include "scan/predicate.h"

namespace duckdb {
class ClientContext;
class Expression;
class LogicalGet;
class TableFilter;
}  // namespace duckdb

namespace timelake::sql {

// What of one filter, a conjunct above the scan `get`, can prune files and row groups, added to
// `predicate` unless it is there already. Never more than the filter says: a constant that is not
// exactly of the column's type, a parameter, an expression over the column add nothing.
void AddPruning(duckdb::ClientContext& context, const duckdb::LogicalGet& get,
                const iceberg::Schema& schema, const duckdb::Expression& filter,
                scan::Predicate* predicate);

// `column op value`, of which pruning may make use: SQL says that the zeros are equal, bounds order
// them.
scan::ColumnTest OrderedTest(const iceberg::Field& field, scan::Op op, const iceberg::Value& value);

// Adds a test that is not there already.
void AddTest(scan::ColumnTest test, scan::Predicate* predicate);

// `column IN (constants)` as a filter that the scan can apply: DuckDB itself would leave it above.
struct InList {
  const iceberg::Field* field = nullptr;
  std::shared_ptr<const duckdb::TableFilter> filter;
};
std::optional<InList> InListOf(duckdb::ClientContext& context, const duckdb::LogicalGet& get,
                               const iceberg::Schema& schema, const duckdb::Expression& filter);

// "host = 'a', time >= 2026-01-01T00:00:00Z", for EXPLAIN.
std::string ToText(const iceberg::Schema& schema, const scan::Predicate& predicate);

}  // namespace timelake::sql

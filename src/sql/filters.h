#pragma once

#include <optional>
#include <string>
#include <vector>

#include "iceberg/schema.h"
#include "scan/predicate.h"

namespace duckdb {
class ClientContext;
class Expression;
class LogicalGet;
}  // namespace duckdb

namespace timelake::sql {

// What of one filter, a conjunct above the scan `get`, can prune files and row groups, added to
// `predicate` unless it is there already. Never more than the filter says: a constant that is not
// exactly of the column's type, a parameter, an expression over the column add nothing.
void AddPruning(duckdb::ClientContext& context, const duckdb::LogicalGet& get,
                const iceberg::Schema& schema, const duckdb::Expression& filter,
                scan::Predicate* predicate);

// "host = 'a', time >= 2026-01-01T00:00:00Z", for EXPLAIN.
std::string ToText(const iceberg::Schema& schema, const scan::Predicate& predicate);

}  // namespace timelake::sql

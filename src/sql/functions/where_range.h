#pragma once

#include <duckdb/common/unique_ptr.hpp>
#include <duckdb/common/vector.hpp>
#include <duckdb/planner/expression.hpp>

namespace duckdb {
class LogicalOperator;
}

namespace timelake::sql {

// What WHERE clauses below an operator demand of an expression by comparing it with values that
// are the same for all rows: constants, parameters, now(). Copies of those values.
struct WhereRange {
  using Values = duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>;
  Values at_least, above, at_most, below;
};

// `expression` is over the output of `op`; `root` is the whole plan, for CTEs. Follows it through
// filters, projections (sub-queries), joins, windows, limits and CTEs; only finds what is said of
// exactly this expression, and nothing behind a UNION or another GROUP BY. What it finds holds for
// all rows in which the expression is not NULL.
void FindWhereRange(duckdb::LogicalOperator& root, duckdb::LogicalOperator& op,
                    const duckdb::Expression& expression, WhereRange* range);

// The same for all rows, and known when the query runs.
bool IsSameForAllRows(const duckdb::Expression& expression);

}  // namespace timelake::sql

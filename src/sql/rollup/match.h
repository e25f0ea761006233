#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "sql/rollup/expressions.h"
#include "table/rollup_definition.h"

namespace duckdb {
class ClientContext;
class SelectNode;
}  // namespace duckdb

namespace timelake::sql {

// A query of a table, turned into one over rows of states: columns of the table's keys, of bucket
// starts under the name of its time column, and of states.
struct MatchedQuery {
  std::unique_ptr<duckdb::SelectNode> query;  // FROM and the conditions on time are still to come
  table::TimeRange times;                     // that it asks for, by the conditions
  // State columns of the rollup, and what they are called in the query.
  std::map<std::string, std::string> states;
};

// nullopt: the rollup cannot answer it, or that is not certain. Never throws for a query that is
// valid. `columns`: of the table; `context` within a transaction, to look up functions.
Result<std::optional<MatchedQuery>> MatchQuery(duckdb::ClientContext& context,
                                               const duckdb::SelectNode& query,
                                               const SourceColumns& columns, bool zoned,
                                               const table::RollupDefinition& definition,
                                               const Evaluate& evaluate);

}  // namespace timelake::sql

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <duckdb/common/case_insensitive_map.hpp>
#include <duckdb/planner/expression/bound_parameter_data.hpp>

#include "base/error.h"
#include "sql/rollup/expressions.h"
#include "table/rollup_definition.h"
#include "table/rollup_position.h"

namespace duckdb {
class ClientContext;
class SelectNode;
}  // namespace duckdb

namespace timelake::sql {

using ParamValues = duckdb::case_insensitive_map_t<duckdb::BoundParameterData>;

// A query of a table, turned into one over rows of states: columns of the table's keys, of bucket
// starts under the name of its time column, and of states.
struct MatchedQuery {
  std::unique_ptr<duckdb::SelectNode> query;  // FROM and the conditions on time are still to come
  table::TimeRange times;                     // that it asks for, by the conditions
  // State columns of the rollup, and what they are called in the query.
  std::map<std::string, std::string> states;
  // Buckets of the query of which it is still to be seen whether those of the rollup lie in them.
  std::vector<table::RollupWidth> unproven;
};

// Where a query stands.
struct MatchContext {
  duckdb::ClientContext& client;  // within a transaction, to look up functions
  const SourceColumns& columns;   // of the table
  bool zoned = true;              // its time is TIMESTAMP WITH TIME ZONE
  std::string zone;               // of the session; empty: UTC
  const Evaluate& evaluate;       // in that zone
  const ParamValues& params;
  bool refreshing = false;  // a query of ToSql, that asks for states themselves
};

// nullopt: the rollup cannot answer it, or that is not certain. Never throws for a query that is
// valid.
Result<std::optional<MatchedQuery>> MatchQuery(const MatchContext& context,
                                               const duckdb::SelectNode& query,
                                               const table::RollupDefinition& definition);

}  // namespace timelake::sql

#pragma once

#include <optional>
#include <string>

#include "table/rollup_definition.h"

namespace duckdb {
class FunctionExpression;
}

namespace timelake::sql {

// Kind and argument of the aggregate that a normalized call is; nullopt: a rollup does not know it,
// or not so (DISTINCT, FILTER, ORDER BY, another time than column `time`).
std::optional<table::RollupAggregate> AggregateOfCall(const duckdb::FunctionExpression& call,
                                                      const std::string& time);

}  // namespace timelake::sql

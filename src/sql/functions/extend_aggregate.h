#pragma once

#include <string>

#include <duckdb/function/function_set.hpp>

namespace duckdb {
class DatabaseInstance;
}

namespace timelake::sql {

// Adds overloads to a built-in aggregate, or makes a new one. Aggregates can only be replaced as a
// whole, so DuckDB's overloads come along. `parameters` and `description` are those of the added.
void ExtendAggregate(duckdb::DatabaseInstance& database, duckdb::AggregateFunctionSet added,
                     const duckdb::vector<std::string>& parameters, const std::string& description);

}  // namespace timelake::sql

#pragma once

#include <string>

#include <duckdb/common/types/value.hpp>
#include <duckdb/planner/expression.hpp>

namespace duckdb {
class ClientContext;
}

namespace timelake::sql {

// The value of an argument that must be the same for all rows, cast to the type that the function
// takes. Throws, naming function, argument and `accepted`, if it is not constant or NULL.
duckdb::Value ConstantArgument(duckdb::ClientContext& context, const std::string& function,
                               const std::string& argument, const std::string& accepted,
                               const duckdb::Expression& expression,
                               const duckdb::LogicalType& type);

}  // namespace timelake::sql

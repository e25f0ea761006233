#pragma once

#include <string>
#include <vector>

#include "sql/rollup/define.h"
#include "table/contract.h"

namespace timelake::sql {

// kInvalidArgument: a function in the definition of rollup `name` is not the same at each refresh.
Status CheckFunctions(Engine& engine, const std::string& name,
                      const table::RollupDefinition& definition);

// The columns of a rollup: what its query gives, those named in `order` first. `source`: the table,
// `contract` its contract.
Result<NewRollup> DescribeRollup(Engine& engine, const std::string& name,
                                 table::RollupDefinition definition,
                                 const std::vector<std::string>& order,
                                 const iceberg::Schema& source, const table::Contract& contract);

}  // namespace timelake::sql

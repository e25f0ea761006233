#pragma once

#include <memory>

#include "sql/rollup/match.h"

namespace duckdb {
class SelectStatement;
class SQLStatement;
}  // namespace duckdb

namespace timelake::sql {

// The SELECT that an EXECUTE runs, and the values of its parameters, with which it says the same;
// null: it runs something else, or nothing. `values`: those of the EXECUTE itself.
std::unique_ptr<duckdb::SelectStatement> ExecutedSelect(duckdb::ClientContext& context,
                                                        const duckdb::SQLStatement& statement,
                                                        ParamValues* values);

}  // namespace timelake::sql

#pragma once

#include <duckdb/common/unique_ptr.hpp>

#include "sql/rollup/match.h"

namespace duckdb {
class SQLStatement;
}

namespace timelake::sql {

struct Database;
class LakeContext;

// Turns queries of tables that have rollups into queries of rollups and of what those do not have,
// where that gives the same and reads less (docs/rollups.md, "Queries"). Only SELECT, EXPLAIN of it
// and EXECUTE of one, which becomes the SELECT with its values, outside of BEGIN ... COMMIT. The
// versions of the tables that were looked at stay those of the statement: the caller runs it next,
// and clears LakeContext::loaded behind it.
void RouteToRollups(Database& database, LakeContext& lake,
                    duckdb::unique_ptr<duckdb::SQLStatement>* statement, ParamValues* values);

}  // namespace timelake::sql

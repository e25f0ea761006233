#pragma once

#include "base/error.h"

namespace duckdb {
class SQLStatement;
}

namespace timelake::sql {

struct Database;
class LakeContext;

// Turns queries of tables that have rollups into queries of rollups and of what those do not have,
// where that gives the same and reads less (docs/rollups.md, "Queries"). Only SELECT and EXPLAIN of
// it, outside of BEGIN ... COMMIT. The versions of the tables that were looked at stay those of the
// statement: the caller runs it next, and clears LakeContext::loaded behind it.
void RouteToRollups(Database& database, LakeContext& lake, duckdb::SQLStatement* statement);

}  // namespace timelake::sql

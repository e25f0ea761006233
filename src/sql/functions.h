#pragma once

namespace duckdb {
class DatabaseInstance;
}

namespace timelake::sql {

// Adds the time-series functions to DuckDB's, or puts ours in their place (time_bucket, and
// date_trunc where integers do); docs/sql.md describes them. Sources: sql/functions/.
void RegisterFunctions(duckdb::DatabaseInstance& database);

}  // namespace timelake::sql

#pragma once

namespace duckdb {
class DatabaseInstance;
}

namespace timelake::sql {

// Puts integer arithmetic before DuckDB's own time_bucket and date_trunc on TIMESTAMP and TIMESTAMP
// WITH TIME ZONE, where the answer is the same: ICU needs up to a microsecond a row. time_bucket
// without a zone argument is on UTC whatever the session's zone; date_trunc only if that is UTC.
// All else (time zones, widths that vary by row, centuries) goes to DuckDB's function as before.
void RegisterFunctions(duckdb::DatabaseInstance& database);

}  // namespace timelake::sql

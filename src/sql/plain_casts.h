#pragma once

namespace duckdb {
class ClientContext;
struct DBConfig;
}  // namespace duckdb

namespace timelake::sql {

// DuckDB casts the values of an INSERT to the types of the columns, which rounds 1.5 to 2. An
// append refuses that, so casts that could change a value are taken out of the plan again and left
// to the append. Casts that the query spells out stay. Call before the database is opened.
void RegisterPlainCasts(duckdb::DBConfig& config);

// False when the session has switched that off together with DuckDB's optimizer.
bool PlainCastsRun(duckdb::ClientContext& context);

}  // namespace timelake::sql

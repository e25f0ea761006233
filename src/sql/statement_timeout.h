#pragma once

namespace duckdb {
class ClientContext;
class DatabaseInstance;
}  // namespace duckdb

namespace timelake::sql {

// SET timelake_statement_timeout = '30s': a statement is cancelled when it takes longer, its rows
// read to the end included. '' (the default): never.
void RegisterStatementTimeout(duckdb::DatabaseInstance& database);

// For each connection that is to obey it.
void ObeyStatementTimeout(duckdb::ClientContext& context);

}  // namespace timelake::sql

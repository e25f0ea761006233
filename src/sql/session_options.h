#pragma once

#include "table/settings.h"

namespace duckdb {
class ClientContext;
class DatabaseInstance;
}  // namespace duckdb

namespace timelake::sql {

// The settings of queries as options of DuckDB: SET timelake_read_dedup = 'on' | 'off' | 'table',
// likewise timelake_latest_from_index and timelake_aggregates_from_metadata. `table`, the default:
// as the lake's session settings and the table say.
void RegisterSessionOptions(duckdb::DatabaseInstance& database);

// Those that are not `table`, by the names of settings.
table::SettingMap SessionOptionsOf(duckdb::ClientContext& context);

}  // namespace timelake::sql

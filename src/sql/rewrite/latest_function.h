#pragma once

namespace duckdb {
class ExtensionLoader;
}

namespace timelake::sql {

// FROM latest('table') or latest('namespace.table'): the newest row of each series, ordered by the
// series key; of a table without a key its newest row. An error for a table without a time column.
void RegisterLatestFunction(duckdb::ExtensionLoader& loader);

}  // namespace timelake::sql

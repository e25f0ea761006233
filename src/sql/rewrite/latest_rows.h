#pragma once

namespace duckdb {
class DatabaseInstance;
}

namespace timelake::sql {

// Queries that need the newest row of each series only read it from the last-value index, where
// there is one that holds at their snapshot (session setting latest-from-index):
//   row_number() OVER (PARTITION BY key ORDER BY time DESC) = 1, in a sub-query, CTE or QUALIFY
//   DISTINCT ON (key) ... ORDER BY key, time DESC
//   max(time), arg_max(value, time), last(value, time), also GROUP BY columns of the key
//   WHERE key = ... ORDER BY time DESC LIMIT 1
// The scan below then gives one row a series; the operators above stay and find what they look
// for. Filters in between may be on columns of the key only.
void RegisterLatestRows(duckdb::DatabaseInstance& database);

}  // namespace timelake::sql

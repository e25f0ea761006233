#pragma once

namespace duckdb {
class DatabaseInstance;
}

namespace timelake::sql {

// What is known of one side's columns in an ASOF join prunes the scan of the other:
//   a ASOF JOIN b ON a.key = b.key AND a.time >= b.time WHERE a.key = 'x' AND a.time < '2026-02-01'
// reads of b only what has key 'x' and is before that. Known are the filters and the bounds of the
// files that are left. From the right side to the left this holds for inner joins only, and nothing
// is known of where the row before the first lies: no lower bound goes from left to right.
// Rows are only left out where no row of the other side can meet them. Also keeps NULL keys from
// meeting each other, which DuckDB does in large joins and not in small ones.
void RegisterAsofBounds(duckdb::DatabaseInstance& database);

}  // namespace timelake::sql

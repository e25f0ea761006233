#pragma once

namespace duckdb {
class DatabaseInstance;
}

namespace timelake::sql {

// Groups by the series and a bucket of time, aggregated while reading (run_aggregates.h), that lie
// in one file each need no operator that looks for more of their rows: in place of the aggregation
// the scan gives its result. Files that share groups with others are read by a second scan, and
// aggregated as ever. To be registered behind that one.
void RegisterWholeGroups(duckdb::DatabaseInstance& database);

}  // namespace timelake::sql

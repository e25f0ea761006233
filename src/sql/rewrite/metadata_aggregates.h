#pragma once

namespace duckdb {
class DatabaseInstance;
}

namespace timelake::sql {

// count(*), count(column), min and max without GROUP BY, directly over a scan: files whose rows all
// pass the scan's filters are answered from manifests and footers, the others are scanned (setting
// aggregates-from-metadata). The answer for the files is added to the scan's above the aggregate:
//   count(*) -> count(*) + 123, max(time) -> greatest(max(time), '2026-01-31 ...')
// Where no file is left, the scan gives one row and the aggregate goes.
void RegisterMetadataAggregates(duckdb::DatabaseInstance& database);

}  // namespace timelake::sql

#pragma once

namespace duckdb {
class DatabaseInstance;
}

namespace timelake::sql {

// GROUP BY series columns, other text and time_bucket or date_trunc over a table's rows, of count,
// sum, avg, min and max: the scan aggregates the runs of equal keys that sorted files consist of
// (scan/run_aggregate.h), the operator above merges them. Results are the same but for the order in
// which doubles are added up, which is not defined anyway.
void RegisterRunAggregates(duckdb::DatabaseInstance& database);

}  // namespace timelake::sql

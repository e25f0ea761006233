#pragma once

namespace duckdb {
class AggregateFunction;
}

// Aggregates that put together what a scan has aggregated in part. Not known by name: only plans of
// ours use them.

namespace timelake::sql {

// count: the sum of counts (BIGINT), zero if there is none.
duckdb::AggregateFunction MergeCounts();

// avg of doubles: of sums (DOUBLE, NULL without a value) and counts (BIGINT).
duckdb::AggregateFunction MergeAverages();

}  // namespace timelake::sql

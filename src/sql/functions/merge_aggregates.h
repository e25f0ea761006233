#pragma once

namespace duckdb {
class AggregateFunction;
class ScalarFunction;
}  // namespace duckdb

// Aggregates that put together what a scan has aggregated in part. Not known by name: only plans of
// ours use them.

namespace timelake::sql {

// count: the sum of counts (BIGINT), zero if there is none.
duckdb::AggregateFunction MergeCounts();

// sum of whole numbers (HUGEINT): of sums of what is above the lower 32 bits, and of those (BIGINT,
// both NULL without a value).
duckdb::AggregateFunction MergeSums();

// avg of doubles: of sums (DOUBLE, NULL without a value) and counts (BIGINT).
duckdb::AggregateFunction MergeAverages();

// The same of a single row.
duckdb::ScalarFunction MergedSum();
duckdb::ScalarFunction MergedAverage();

}  // namespace timelake::sql

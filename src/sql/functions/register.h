#pragma once

namespace duckdb {
class DatabaseInstance;
class ExtensionLoader;
}  // namespace duckdb

// One of these per subject; functions.cc calls them all. docs/sql.md says what the functions do.

namespace timelake::sql {

void RegisterTimeBucket(duckdb::ExtensionLoader& loader);
void RegisterDateTrunc(duckdb::DatabaseInstance& database, duckdb::ExtensionLoader& loader);
void RegisterFirstLast(duckdb::DatabaseInstance& database, duckdb::ExtensionLoader& loader);
void RegisterReadings(duckdb::ExtensionLoader& loader);
void RegisterPlots(duckdb::ExtensionLoader& loader);
void RegisterMergeVariance(duckdb::ExtensionLoader& loader);
void RegisterMergeTimeWeighted(duckdb::ExtensionLoader& loader);
void RegisterHistogram(duckdb::DatabaseInstance& database, duckdb::ExtensionLoader& loader);
void RegisterGapfillFunctions(duckdb::ExtensionLoader& loader);
void RegisterGapfillPlan(duckdb::DatabaseInstance& database);

// After all of them.
void DescribeFunctions(duckdb::DatabaseInstance& database);

}  // namespace timelake::sql

#include "sql/functions.h"

#include <duckdb/main/database.hpp>
#include <duckdb/main/extension/extension_loader.hpp>

#include "sql/functions/register.h"

namespace timelake::sql {

void RegisterFunctions(duckdb::DatabaseInstance& database) {
  duckdb::ExtensionLoader loader(database, "timelake");
  RegisterTimeBucket(loader);
  RegisterDateTrunc(database, loader);
  RegisterFirstLast(database, loader);
  RegisterReadings(loader);
  RegisterPlots(loader);
  RegisterMergeVariance(loader);
  RegisterMergeTimeWeighted(loader);
  RegisterHistogram(database, loader);
  RegisterGapfillFunctions(loader);
  RegisterGapfillPlan(database);
  DescribeFunctions(database);
}

}  // namespace timelake::sql

// What duckdb_functions() says of our functions; docs/sql.md says more.

#include <string>
#include <utility>

#include <duckdb/catalog/catalog.hpp>
#include <duckdb/catalog/catalog_entry/function_entry.hpp>
#include <duckdb/catalog/catalog_entry/schema_catalog_entry.hpp>
#include <duckdb/main/database.hpp>

#include "sql/functions/gapfill_names.h"
#include "sql/functions/register.h"

namespace timelake::sql {

namespace {

struct Described {
  bool aggregate;
  const char* name;
  duckdb::vector<std::string> parameters;
  const char* text;
  const char* example;
};

duckdb::vector<Described> All() {
  return {
      {false,
       "time_bucket",
       {"width", "time", "zone_or_origin_or_offset", "origin_or_offset"},
       "The start of the bucket that a time lies in; UTC unless a zone is named",
       "time_bucket('15m', time)"},
      {false,
       kGapfill,
       {"width", "time"},
       "As time_bucket, in GROUP BY: the result has a row for every bucket",
       "time_bucket_gapfill('1h', time)"},
      {false,
       kLocf,
       {"value"},
       "In a query with time_bucket_gapfill: the last value before that is not NULL",
       "locf(avg(temp))"},
      {false,
       kInterpolate,
       {"value"},
       "In a query with time_bucket_gapfill: the value between its neighbours",
       "interpolate(avg(temp))"},
      {true,
       "time_weighted_mean",
       {"time", "value", "method"},
       "The mean of the curve through the readings; method is 'locf' or 'linear'",
       "time_weighted_mean(time, temp, 'linear')"},
      {true,
       "increase",
       {"time", "value"},
       "How much a counter went up, with resets to zero",
       "increase(time, requests)"},
      {true,
       "rate",
       {"time", "value"},
       "The increase of a counter a second",
       "rate(time, requests)"},
      {true, "delta", {"time", "value"}, "The last minus the first value", "delta(time, temp)"},
      {true,
       "m4",
       {"time", "value"},
       "The first, lowest, highest and last reading, as a list of points",
       "m4(time, temp)"},
      {true,
       "lttb",
       {"time", "value", "n"},
       "At most n readings that keep the shape of the curve, as a list of points",
       "lttb(time, temp, 500)"},
  };
}

}  // namespace

void DescribeFunctions(duckdb::DatabaseInstance& database) {
  auto& catalog = duckdb::Catalog::GetSystemCatalog(database);
  const auto transaction = duckdb::CatalogTransaction::GetSystemTransaction(database);
  auto& schema = catalog.GetSchema(transaction, DEFAULT_SCHEMA);
  for (auto& described : All()) {
    const auto type = described.aggregate ? duckdb::CatalogType::AGGREGATE_FUNCTION_ENTRY
                                          : duckdb::CatalogType::SCALAR_FUNCTION_ENTRY;
    auto entry = schema.GetEntry(transaction, type, described.name);
    if (!entry) continue;
    duckdb::FunctionDescription description;
    for (auto& parameter : described.parameters) {
      description.parameter_names.push_back(std::move(parameter));
    }
    description.description = described.text;
    description.examples.push_back(described.example);
    entry->Cast<duckdb::FunctionEntry>().descriptions = {std::move(description)};
  }
}

}  // namespace timelake::sql

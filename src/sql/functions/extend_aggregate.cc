#include "sql/functions/extend_aggregate.h"

#include <utility>

#include <duckdb/catalog/catalog.hpp>
#include <duckdb/catalog/catalog_entry/aggregate_function_catalog_entry.hpp>
#include <duckdb/catalog/catalog_entry/schema_catalog_entry.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/parser/parsed_data/create_aggregate_function_info.hpp>

namespace timelake::sql {

void ExtendAggregate(duckdb::DatabaseInstance& database, duckdb::AggregateFunctionSet added) {
  auto& catalog = duckdb::Catalog::GetSystemCatalog(database);
  const auto transaction = duckdb::CatalogTransaction::GetSystemTransaction(database);
  auto& schema = catalog.GetSchema(transaction, DEFAULT_SCHEMA);
  const auto entry =
      schema.GetEntry(transaction, duckdb::CatalogType::AGGREGATE_FUNCTION_ENTRY, added.name);
  if (entry) {
    for (const auto& overload :
         entry->Cast<duckdb::AggregateFunctionCatalogEntry>().functions.functions) {
      added.AddFunction(overload);
    }
  }
  duckdb::CreateAggregateFunctionInfo info(std::move(added));
  info.on_conflict = duckdb::OnCreateConflict::REPLACE_ON_CONFLICT;
  info.internal = true;
  schema.CreateFunction(transaction, info);
}

}  // namespace timelake::sql

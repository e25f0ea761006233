#include "sql/functions/extend_aggregate.h"

#include <utility>

#include <duckdb/catalog/catalog.hpp>
#include <duckdb/catalog/catalog_entry/aggregate_function_catalog_entry.hpp>
#include <duckdb/catalog/catalog_entry/schema_catalog_entry.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/parser/parsed_data/create_aggregate_function_info.hpp>

namespace timelake::sql {

void ExtendAggregate(duckdb::DatabaseInstance& database, duckdb::AggregateFunctionSet added,
                     const duckdb::vector<std::string>& parameters,
                     const std::string& description) {
  auto& catalog = duckdb::Catalog::GetSystemCatalog(database);
  const auto transaction = duckdb::CatalogTransaction::GetSystemTransaction(database);
  auto& schema = catalog.GetSchema(transaction, DEFAULT_SCHEMA);
  duckdb::vector<duckdb::FunctionDescription> descriptions;
  for (const auto& overload : added.functions) {
    duckdb::FunctionDescription ours;
    ours.parameter_types = overload.arguments;
    for (const auto& parameter : parameters) ours.parameter_names.push_back(parameter);
    ours.description = description;
    descriptions.push_back(std::move(ours));
  }
  const auto entry =
      schema.GetEntry(transaction, duckdb::CatalogType::AGGREGATE_FUNCTION_ENTRY, added.name);
  if (entry) {
    const auto& known = entry->Cast<duckdb::AggregateFunctionCatalogEntry>();
    for (const auto& overload : known.functions.functions) {
      added.AddFunction(overload);
      if (known.descriptions.empty()) continue;
      // One that is for all overloads must say so now.
      auto theirs = known.descriptions[0];
      theirs.parameter_types = overload.arguments;
      descriptions.push_back(std::move(theirs));
    }
  }
  duckdb::CreateAggregateFunctionInfo info(std::move(added));
  info.descriptions = std::move(descriptions);
  info.on_conflict = duckdb::OnCreateConflict::REPLACE_ON_CONFLICT;
  info.internal = true;
  schema.CreateFunction(transaction, info);
}

}  // namespace timelake::sql

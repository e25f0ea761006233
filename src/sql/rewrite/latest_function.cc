#include "sql/rewrite/latest_function.h"

#include <fmt/format.h>
#include <duckdb/catalog/catalog.hpp>
#include <duckdb/catalog/catalog_entry/table_catalog_entry.hpp>
#include <duckdb/function/table_function.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/main/extension/extension_loader.hpp>
#include <duckdb/parser/keyword_helper.hpp>
#include <duckdb/parser/parser.hpp>
#include <duckdb/parser/qualified_name.hpp>
#include <duckdb/parser/statement/select_statement.hpp>
#include <duckdb/parser/tableref/subqueryref.hpp>

#include "base/text.h"
#include "sql/error.h"
#include "sql/newest_rows.h"
#include "sql/scan_function.h"

namespace timelake::sql {

namespace {

std::string Quoted(const std::string& name) {
  return duckdb::KeywordHelper::WriteQuoted(name, '"');
}

std::string NewestRows(const TableVersion& table, const std::string& from) {
  const table::Contract& contract = table.contract;
  const std::string time = Quoted(contract.time_name);
  if (contract.key_names.empty()) {
    return fmt::format("SELECT * FROM {} ORDER BY {} DESC LIMIT 1", from, time);
  }
  std::vector<std::string> keys;
  for (const std::string& name : contract.key_names) keys.push_back(Quoted(name));
  const std::string list = Join(keys, ", ");
  // Where the index will answer, without the order that DISTINCT ON asks for; a scan is faster with
  // it.
  if (table.latest && CountSeries(table)) {
    return fmt::format(
        "SELECT * FROM {} QUALIFY row_number() OVER (PARTITION BY {} ORDER BY {} DESC) = 1", from,
        list, time);
  }
  return fmt::format("SELECT DISTINCT ON ({}) * FROM {} ORDER BY {}, {} DESC", list, from, list,
                     time);
}

duckdb::unique_ptr<duckdb::TableRef> Replace(duckdb::ClientContext& context,
                                             duckdb::TableFunctionBindInput& input) {
  const duckdb::Value& argument = input.inputs[0];
  if (argument.IsNull()) {
    Throw(InvalidArgument("latest(NULL): the argument is the name of a table"));
  }
  const std::string text = argument.ToString();
  const auto name = duckdb::QualifiedName::Parse(text);
  auto& entry = duckdb::Catalog::GetEntry<duckdb::TableCatalogEntry>(context, name.catalog,
                                                                     name.schema, name.name);
  duckdb::unique_ptr<duckdb::FunctionData> bind_data;
  const duckdb::TableFunction function = entry.GetScanFunction(context, bind_data);
  const auto table = TableOf(function, bind_data.get());
  if (!table || !table->contract.is_time_series()) {
    Throw(InvalidArgument("table {} has no time column: it has no latest rows", text));
  }
  duckdb::Parser parser(context.GetParserOptions());
  parser.ParseQuery(NewestRows(*table, name.ToString()));
  auto select = duckdb::unique_ptr_cast<duckdb::SQLStatement, duckdb::SelectStatement>(
      std::move(parser.statements[0]));
  return duckdb::make_uniq<duckdb::SubqueryRef>(std::move(select));
}

}  // namespace

void RegisterLatestFunction(duckdb::ExtensionLoader& loader) {
  duckdb::TableFunction function("latest", {duckdb::LogicalType::VARCHAR}, nullptr, nullptr);
  function.bind_replace = Replace;
  loader.RegisterFunction(function);
}

}  // namespace timelake::sql

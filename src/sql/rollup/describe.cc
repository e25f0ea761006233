#include "sql/rollup/describe.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <arrow/array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <duckdb/common/types/value.hpp>
#include <duckdb/parser/parser.hpp>

#include "base/text.h"
#include "iceberg/arrow_schema.h"
#include "sql/rollup/expressions.h"
#include "sql/rollup/query.h"
#include "table/rollup_properties.h"

namespace timelake::sql {

namespace {

using table::RollupDefinition;
using table::RollupKind;

// Names, order and what may be NULL.
NewRollup Finish(const iceberg::Schema& columns, RollupDefinition definition,
                 std::vector<std::string> order, const table::Contract& contract) {
  NewRollup rollup;
  for (const auto& field : columns.fields) {
    if (std::find(order.begin(), order.end(), field.name) == order.end()) {
      order.push_back(field.name);
    }
  }
  std::set<std::string> counts;
  for (const auto& aggregate : definition.aggregates) {
    if (aggregate.kind == RollupKind::kCount) counts.insert(aggregate.name);
  }
  std::map<std::string, std::string> sums;
  for (const auto& name : order) {
    for (iceberg::Field field : columns.fields) {
      if (field.name != name) continue;
      field.required = counts.contains(name) || name == definition.bucket;
      sums[name] = field.type.id == iceberg::TypeId::kDouble ? "double" : "";
      rollup.schema.fields.push_back(std::move(field));
    }
  }
  rollup.fits_peer = table::FitsPeer(definition, sums, contract.key_names);
  rollup.definition = std::move(definition);
  return rollup;
}

}  // namespace

// What is not the same at each refresh makes no sense.
Status CheckFunctions(Engine& engine, const std::string& name, const RollupDefinition& definition) {
  std::vector<std::string> texts = definition.filter;
  for (const auto& aggregate : definition.aggregates) {
    if (!aggregate.argument.empty()) texts.push_back(aggregate.argument);
  }
  std::set<std::string> names;
  for (const auto& text : texts) {
    for (const auto& parsed : duckdb::Parser::ParseExpressionList(text)) {
      names.merge(FunctionsOf(*parsed));
    }
  }
  if (names.empty()) return Status::OK();
  std::vector<std::string> quoted;
  for (const auto& function : names) {
    quoted.push_back(duckdb::Value(function).ToSQLString());
  }
  TL_ASSIGN_OR_RAISE(
      const auto reader,
      engine.Query("SELECT function_name FROM duckdb_functions() WHERE function_name IN (" +
                   Join(quoted, ", ") + ") AND stability <> 'CONSISTENT' LIMIT 1"));
  TL_ASSIGN_OR_RAISE(const auto rows, reader->ToTable());
  if (rows->num_rows() == 0) return Status::OK();
  TL_ASSIGN_OR_RAISE(const auto found, rows->column(0)->GetScalar(0));
  return InvalidArgument("rollup {}: {} is not the same at each refresh, and cannot be kept", name,
                         found->ToString());
}

Result<NewRollup> DescribeRollup(Engine& engine, const std::string& name,
                                 RollupDefinition definition, const std::vector<std::string>& order,
                                 const iceberg::Schema& source, const table::Contract& contract) {
  const iceberg::Field* time = iceberg::FindFieldById(source, *contract.time_id);
  RefreshQuery query;
  query.definition = &definition;
  query.zoned = time->type.id == iceberg::TypeId::kTimestamptz;
  const std::string sql = ToSql(query) + " LIMIT 0";
  const auto failed = [&](const Status& status) { return WithContext(status, "rollup " + name); };
  auto described = engine.Query("DESCRIBE " + sql);
  if (!described.ok()) return failed(described.status());
  TL_ASSIGN_OR_RAISE(const auto types, (*described)->ToTable());
  std::map<std::string, std::string> type_of;
  for (int64_t row = 0; row < types->num_rows(); ++row) {
    TL_ASSIGN_OR_RAISE(const auto column, types->column(0)->GetScalar(row));
    TL_ASSIGN_OR_RAISE(const auto type, types->column(1)->GetScalar(row));
    type_of[column->ToString()] = type->ToString();
  }
  for (auto& aggregate : definition.aggregates) aggregate.type = type_of[aggregate.name];
  auto reader = engine.Query(sql);
  if (!reader.ok()) return failed(reader.status());
  auto columns = iceberg::FromArrow(*(*reader)->schema());
  if (!columns.ok()) return failed(columns.status());
  TL_ASSIGN_OR_RAISE(const auto nothing, (*reader)->ToTable());
  return Finish(*columns, std::move(definition), order, contract);
}

}  // namespace timelake::sql

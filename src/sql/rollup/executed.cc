#include "sql/rollup/executed.h"

#include <duckdb/main/client_context.hpp>
#include <duckdb/main/client_data.hpp>
#include <duckdb/main/prepared_statement_data.hpp>
#include <duckdb/parser/expression/constant_expression.hpp>
#include <duckdb/parser/expression/parameter_expression.hpp>
#include <duckdb/parser/statement/execute_statement.hpp>
#include <duckdb/parser/statement/select_statement.hpp>

namespace timelake::sql {

std::unique_ptr<duckdb::SelectStatement> ExecutedSelect(duckdb::ClientContext& context,
                                                        const duckdb::SQLStatement& statement,
                                                        ParamValues* values) {
  if (statement.type != duckdb::StatementType::EXECUTE_STATEMENT) return nullptr;
  const auto& execute = statement.Cast<duckdb::ExecuteStatement>();
  const auto& prepared = duckdb::ClientData::Get(context).prepared_statements;
  const auto found = prepared.find(execute.name);
  if (found == prepared.end() || !found->second->unbound_statement ||
      found->second->unbound_statement->type != duckdb::StatementType::SELECT_STATEMENT) {
    return nullptr;
  }
  auto select = found->second->unbound_statement->Copy();
  if (select->named_param_map.size() != execute.named_values.size()) return nullptr;
  ParamValues given;
  for (const auto& [name, expression] : execute.named_values) {
    if (!select->named_param_map.contains(name)) return nullptr;
    if (expression->GetExpressionClass() == duckdb::ExpressionClass::CONSTANT) {
      given[name] =
          duckdb::BoundParameterData(expression->Cast<duckdb::ConstantExpression>().value);
    } else if (expression->GetExpressionClass() == duckdb::ExpressionClass::PARAMETER) {
      const auto value = values->find(expression->Cast<duckdb::ParameterExpression>().identifier);
      if (value == values->end()) return nullptr;
      given[name] = value->second;
    } else {
      return nullptr;
    }
  }
  *values = std::move(given);
  return std::unique_ptr<duckdb::SelectStatement>(
      static_cast<duckdb::SelectStatement*>(select.release()));
}

}  // namespace timelake::sql

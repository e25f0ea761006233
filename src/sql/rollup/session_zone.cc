#include "sql/rollup/session_zone.h"

#include <set>

#include <duckdb/main/client_context.hpp>
#include <duckdb/parser/expression/cast_expression.hpp>
#include <duckdb/parser/expression/columnref_expression.hpp>
#include <duckdb/parser/expression/function_expression.hpp>
#include <duckdb/parser/parsed_expression_iterator.hpp>
#include <duckdb/parser/parser.hpp>

#include "base/text.h"

namespace timelake::sql {

namespace {

using duckdb::ExpressionClass;
using duckdb::ParsedExpression;

// Types of columns that no zone has a part in.
bool IsPlain(iceberg::TypeId type) {
  switch (type) {
    case iceberg::TypeId::kBoolean:
    case iceberg::TypeId::kInt:
    case iceberg::TypeId::kLong:
    case iceberg::TypeId::kFloat:
    case iceberg::TypeId::kDouble:
    case iceberg::TypeId::kDecimal:
    case iceberg::TypeId::kString: return true;
    default: return false;
  }
}

bool IsFree(const ParsedExpression& expression, const iceberg::Schema& schema) {
  switch (expression.GetExpressionClass()) {
    case ExpressionClass::COLUMN_REF: {
      const auto& name = expression.Cast<duckdb::ColumnRefExpression>().column_names.back();
      const auto* field = iceberg::FindField(schema, name);
      return field && IsPlain(field->type.id);
    }
    case ExpressionClass::FUNCTION: {
      static const std::set<std::string> kPlain = {
          "+",     "-",     "*",      "/",         "//",       "%",        "||",    "abs",
          "round", "floor", "ceil",   "ln",        "exp",      "log",      "log10", "log2",
          "sqrt",  "pow",   "power",  "sign",      "coalesce", "greatest", "least", "lower",
          "upper", "trim",  "length", "substring", "concat",   "~~",       "!~~"};
      if (!kPlain.contains(
              ToLowerAscii(expression.Cast<duckdb::FunctionExpression>().function_name))) {
        return false;
      }
      break;
    }
    case ExpressionClass::CAST: {
      static const std::set<std::string> kPlain = {"BIGINT",  "INTEGER", "SMALLINT", "TINYINT",
                                                   "HUGEINT", "DOUBLE",  "FLOAT",    "BOOLEAN",
                                                   "VARCHAR", "INT",     "REAL",     "TEXT"};
      std::string type = expression.Cast<duckdb::CastExpression>().cast_type.ToString();
      std::erase(type, '"');
      if (!kPlain.contains(type)) return false;
      break;
    }
    case ExpressionClass::CONSTANT:
    case ExpressionClass::COMPARISON:
    case ExpressionClass::CONJUNCTION:
    case ExpressionClass::BETWEEN:
    case ExpressionClass::CASE:
    case ExpressionClass::OPERATOR: break;
    default: return false;
  }
  bool free = true;
  duckdb::ParsedExpressionIterator::EnumerateChildren(
      expression, [&](const ParsedExpression& child) { free = free && IsFree(child, schema); });
  return free;
}

}  // namespace

std::string SessionZone(duckdb::ClientContext& context) {
  duckdb::Value zone;
  if (!context.TryGetCurrentSetting("TimeZone", zone) || zone.IsNull()) return "";
  const std::string name = ToLowerAscii(zone.ToString());
  return name == "utc" || name == "etc/utc" ? "" : zone.ToString();
}

bool IsZoneFree(const table::RollupDefinition& definition, const iceberg::Schema& schema) {
  const auto free = [&](const std::string& sql, bool or_column) {
    for (const auto& parsed : duckdb::Parser::ParseExpressionList(sql)) {
      const bool column = parsed->GetExpressionClass() == ExpressionClass::COLUMN_REF;
      if (!(column && or_column) && !IsFree(*parsed, schema)) return false;
    }
    return true;
  };
  for (const auto& condition : definition.filter) {
    if (!free(condition, false)) return false;
  }
  for (const auto& aggregate : definition.aggregates) {
    if (!aggregate.argument.empty() && !free(aggregate.argument, true)) return false;
  }
  return true;
}

}  // namespace timelake::sql

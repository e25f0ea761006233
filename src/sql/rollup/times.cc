#include "sql/rollup/times.h"

#include <algorithm>
#include <limits>
#include <set>

#include <duckdb/parser/expression/between_expression.hpp>
#include <duckdb/parser/expression/comparison_expression.hpp>
#include <duckdb/parser/expression/constant_expression.hpp>
#include <duckdb/parser/expression/function_expression.hpp>
#include <duckdb/parser/expression/parameter_expression.hpp>
#include <duckdb/parser/parsed_expression_iterator.hpp>

#include "base/text.h"

namespace timelake::sql {

using duckdb::ExpressionClass;
using duckdb::ExpressionType;
using duckdb::ParsedExpression;

namespace {

using Expr = duckdb::unique_ptr<ParsedExpression>;

// Puts values in the place of parameters.
void Substitute(Expr* expression, const ParamValues& values) {
  if ((*expression)->GetExpressionClass() == ExpressionClass::PARAMETER) {
    const auto& parameter = (*expression)->Cast<duckdb::ParameterExpression>();
    *expression =
        duckdb::make_uniq<duckdb::ConstantExpression>(values.at(parameter.identifier).GetValue());
    return;
  }
  duckdb::ParsedExpressionIterator::EnumerateChildren(
      **expression, [&](Expr& child) { Substitute(&child, values); });
}

}  // namespace

bool TimeConditions::IsTime(const ParsedExpression& expression) const {
  const std::string* column = context_.columns.ColumnOf(expression);
  return column && *column == time_;
}

// Made of constants, parameters, casts and sums alone.
bool TimeConditions::IsConstant(const ParsedExpression& expression) const {
  switch (expression.GetExpressionClass()) {
    case ExpressionClass::CONSTANT: return true;
    case ExpressionClass::PARAMETER:
      return context_.params.contains(expression.Cast<duckdb::ParameterExpression>().identifier);
    case ExpressionClass::CAST: break;
    case ExpressionClass::FUNCTION:
      if (!IsPlainScalar(context_.client, expression.Cast<duckdb::FunctionExpression>())) {
        return false;
      }
      break;
    default: return false;
  }
  bool constant = true;
  duckdb::ParsedExpressionIterator::EnumerateChildren(
      expression, [&](const ParsedExpression& child) { constant = constant && IsConstant(child); });
  return constant;
}

// The instant of a constant that a time is compared with.
std::optional<int64_t> TimeConditions::InstantOf(const ParsedExpression& expression) const {
  if (!IsConstant(expression)) return std::nullopt;
  auto copy = expression.Copy();
  Substitute(&copy, context_.params);
  const std::string sql = copy->ToString();
  const auto type = context_.evaluate("typeof(" + sql + ")");
  if (!type.ok() || !*type) return std::nullopt;
  static const std::set<std::string> kTypes = {"VARCHAR", "STRING_LITERAL", "DATE", "TIMESTAMP",
                                               "TIMESTAMP WITH TIME ZONE"};
  if (!kTypes.contains(**type)) return std::nullopt;
  // A clock that is set back shows times twice: such a comparison is none of one range.
  if (!context_.zoned && !context_.zone.empty() && **type == "TIMESTAMP WITH TIME ZONE") {
    return std::nullopt;
  }
  const auto micros = context_.evaluate(
      fmt::format("epoch_us(CAST(({}) AS {}))", sql, context_.zoned ? "TIMESTAMPTZ" : "TIMESTAMP"));
  if (!micros.ok() || !*micros) return std::nullopt;
  const auto number = ParseInt64(**micros);
  // Infinite, or nearly.
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 4;
  if (!number.ok() || *number > kMost || *number < -kMost) return std::nullopt;
  return *number;
}

bool TimeConditions::Take(const ParsedExpression& condition) {
  if (condition.GetExpressionClass() == ExpressionClass::BETWEEN) {
    const auto& between = condition.Cast<duckdb::BetweenExpression>();
    if (!IsTime(*between.input)) return false;
    const auto low = InstantOf(*between.lower), high = InstantOf(*between.upper);
    if (!low || !high) return false;
    Limit(ExpressionType::COMPARE_GREATERTHANOREQUALTO, *low);
    Limit(ExpressionType::COMPARE_LESSTHANOREQUALTO, *high);
    return true;
  }
  if (condition.GetExpressionClass() != ExpressionClass::COMPARISON) return false;
  const auto& comparison = condition.Cast<duckdb::ComparisonExpression>();
  ExpressionType type = comparison.GetExpressionType();
  const ParsedExpression* constant = comparison.right.get();
  if (!IsTime(*comparison.left)) {
    if (!IsTime(*comparison.right)) return false;
    constant = comparison.left.get();
    switch (type) {
      case ExpressionType::COMPARE_LESSTHAN: type = ExpressionType::COMPARE_GREATERTHAN; break;
      case ExpressionType::COMPARE_LESSTHANOREQUALTO:
        type = ExpressionType::COMPARE_GREATERTHANOREQUALTO;
        break;
      case ExpressionType::COMPARE_GREATERTHAN: type = ExpressionType::COMPARE_LESSTHAN; break;
      case ExpressionType::COMPARE_GREATERTHANOREQUALTO:
        type = ExpressionType::COMPARE_LESSTHANOREQUALTO;
        break;
      default: break;
    }
  }
  const auto instant = InstantOf(*constant);
  return instant && Limit(type, *instant);
}

bool TimeConditions::Limit(ExpressionType type, int64_t at) {
  switch (type) {
    case ExpressionType::COMPARE_LESSTHAN: range_.end = std::min(range_.end, at); return true;
    case ExpressionType::COMPARE_LESSTHANOREQUALTO:
      range_.end = std::min(range_.end, at + 1);
      return true;
    case ExpressionType::COMPARE_GREATERTHAN:
      range_.first = std::max(range_.first, at + 1);
      return true;
    case ExpressionType::COMPARE_GREATERTHANOREQUALTO:
      range_.first = std::max(range_.first, at);
      return true;
    default: return false;
  }
}

}  // namespace timelake::sql

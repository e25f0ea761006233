#include "sql/functions/plan_tools.h"

#include <utility>

#include <duckdb/planner/expression/bound_case_expression.hpp>
#include <duckdb/planner/expression/bound_columnref_expression.hpp>
#include <duckdb/planner/expression/bound_constant_expression.hpp>
#include <duckdb/planner/expression/bound_function_expression.hpp>
#include <duckdb/planner/expression/bound_operator_expression.hpp>
#include <duckdb/planner/expression_iterator.hpp>
#include <duckdb/planner/logical_operator_visitor.hpp>

namespace timelake::sql::plan {

using duckdb::make_uniq;

bool IsCall(const Expression& expression, const char* name) {
  return expression.GetExpressionClass() == duckdb::ExpressionClass::BOUND_FUNCTION &&
         expression.Cast<duckdb::BoundFunctionExpression>().function.name == name;
}

const Expression* Find(const Expression& expression,
                       const std::function<bool(const Expression&)>& wanted) {
  if (wanted(expression)) return &expression;
  const Expression* found = nullptr;
  duckdb::ExpressionIterator::EnumerateChildren(expression, [&](const Expression& child) {
    if (!found) found = Find(child, wanted);
  });
  return found;
}

void ForEachExpression(LogicalOperator& op, const std::function<void(Expr&)>& visit) {
  duckdb::LogicalOperatorVisitor::EnumerateExpressions(op, [&](Expr* expr) { visit(*expr); });
}

void ReplaceIn(Expr& expression, const std::function<bool(Expr&)>& replace) {
  if (replace(expression)) return;
  duckdb::ExpressionIterator::EnumerateChildren(*expression,
                                                [&](Expr& child) { ReplaceIn(child, replace); });
}

void ReplaceInPlan(LogicalOperator& op, const std::function<bool(Expr&)>& replace) {
  ForEachExpression(op, [&](Expr& expression) { ReplaceIn(expression, replace); });
  for (auto& child : op.children) ReplaceInPlan(*child, replace);
}

Expr Column::Ref() const { return make_uniq<duckdb::BoundColumnRefExpression>(type, binding); }

Columns ColumnsOf(LogicalOperator& op) {
  op.ResolveOperatorTypes();
  const auto bindings = op.GetColumnBindings();
  Columns columns;
  for (idx_t i = 0; i < bindings.size(); ++i) columns.push_back({op.types[i], bindings[i]});
  return columns;
}

Expr Constant(Value value) { return make_uniq<duckdb::BoundConstantExpression>(std::move(value)); }

Expr Case(Expr when, Expr then, Expr otherwise) {
  return make_uniq<duckdb::BoundCaseExpression>(std::move(when), std::move(then),
                                                std::move(otherwise));
}

Expr IsNotNull(Expr value) {
  auto test = make_uniq<duckdb::BoundOperatorExpression>(ExpressionType::OPERATOR_IS_NOT_NULL,
                                                         LogicalType::BOOLEAN);
  test->children.push_back(std::move(value));
  return test;
}

}  // namespace timelake::sql::plan

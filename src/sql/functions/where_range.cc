#include "sql/functions/where_range.h"

#include <duckdb/planner/expression/bound_between_expression.hpp>
#include <duckdb/planner/expression/bound_columnref_expression.hpp>
#include <duckdb/planner/expression/bound_comparison_expression.hpp>
#include <duckdb/planner/expression/bound_conjunction_expression.hpp>
#include <duckdb/planner/expression_iterator.hpp>
#include <duckdb/planner/operator/logical_cte.hpp>
#include <duckdb/planner/operator/logical_cteref.hpp>
#include <duckdb/planner/operator/logical_projection.hpp>

namespace timelake::sql {

namespace {

using duckdb::Expression;
using duckdb::ExpressionType;
using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;

void AddBound(ExpressionType comparison, const Expression& value, WhereRange* range) {
  switch (comparison) {
    case ExpressionType::COMPARE_GREATERTHANOREQUALTO:
      range->at_least.push_back(value.Copy());
      break;
    case ExpressionType::COMPARE_GREATERTHAN: range->above.push_back(value.Copy()); break;
    case ExpressionType::COMPARE_LESSTHANOREQUALTO: range->at_most.push_back(value.Copy()); break;
    case ExpressionType::COMPARE_LESSTHAN: range->below.push_back(value.Copy()); break;
    case ExpressionType::COMPARE_EQUAL:
      range->at_least.push_back(value.Copy());
      range->at_most.push_back(value.Copy());
      break;
    default: break;
  }
}

void AddCondition(const Expression& condition, const Expression& expression, WhereRange* range) {
  switch (condition.GetExpressionClass()) {
    case duckdb::ExpressionClass::BOUND_CONJUNCTION:
      if (condition.GetExpressionType() != ExpressionType::CONJUNCTION_AND) return;
      for (const auto& child : condition.Cast<duckdb::BoundConjunctionExpression>().children) {
        AddCondition(*child, expression, range);
      }
      return;
    case duckdb::ExpressionClass::BOUND_BETWEEN: {
      const auto& between = condition.Cast<duckdb::BoundBetweenExpression>();
      if (!between.input->Equals(expression)) return;
      if (IsSameForAllRows(*between.lower)) {
        AddBound(between.lower_inclusive ? ExpressionType::COMPARE_GREATERTHANOREQUALTO
                                         : ExpressionType::COMPARE_GREATERTHAN,
                 *between.lower, range);
      }
      if (IsSameForAllRows(*between.upper)) {
        AddBound(between.upper_inclusive ? ExpressionType::COMPARE_LESSTHANOREQUALTO
                                         : ExpressionType::COMPARE_LESSTHAN,
                 *between.upper, range);
      }
      return;
    }
    case duckdb::ExpressionClass::BOUND_COMPARISON: {
      const auto& comparison = condition.Cast<duckdb::BoundComparisonExpression>();
      const auto type = comparison.GetExpressionType();
      if (comparison.left->Equals(expression) && IsSameForAllRows(*comparison.right)) {
        AddBound(type, *comparison.right, range);
      } else if (comparison.right->Equals(expression) && IsSameForAllRows(*comparison.left)) {
        AddBound(duckdb::FlipComparisonExpression(type), *comparison.left, range);
      }
      return;
    }
    default: return;
  }
}

// The definition of a CTE, by its index.
LogicalOperator* FindCte(LogicalOperator& op, duckdb::idx_t index) {
  if (op.type == LogicalOperatorType::LOGICAL_MATERIALIZED_CTE &&
      op.Cast<duckdb::LogicalCTE>().table_index == index) {
    return op.children[0].get();
  }
  for (const auto& child : op.children) {
    if (auto* found = FindCte(*child, index)) return found;
  }
  return nullptr;
}

// Puts `columns[i]` for column i of table `table`. False if it has none.
bool Substitute(duckdb::unique_ptr<Expression>* expression, duckdb::idx_t table,
                const duckdb::vector<duckdb::unique_ptr<Expression>>& columns) {
  if ((*expression)->GetExpressionClass() == duckdb::ExpressionClass::BOUND_COLUMN_REF) {
    const auto binding = (*expression)->Cast<duckdb::BoundColumnRefExpression>().binding;
    if (binding.table_index != table) return true;
    if (binding.column_index >= columns.size()) return false;
    *expression = columns[binding.column_index]->Copy();
    return true;
  }
  bool done = true;
  duckdb::ExpressionIterator::EnumerateChildren(
      **expression,
      [&](duckdb::unique_ptr<Expression>& child) { done &= Substitute(&child, table, columns); });
  return done;
}

}  // namespace

bool IsSameForAllRows(const Expression& expression) {
  if (expression.IsVolatile() || expression.HasSubquery()) return false;
  bool same = expression.GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF;
  duckdb::ExpressionIterator::EnumerateChildren(
      expression, [&](const Expression& child) { same &= IsSameForAllRows(child); });
  return same;
}

void FindWhereRange(LogicalOperator& root, LogicalOperator& op, const Expression& expression,
                    WhereRange* range) {
  switch (op.type) {
    case LogicalOperatorType::LOGICAL_FILTER:
      for (const auto& condition : op.expressions) AddCondition(*condition, expression, range);
      break;
    case LogicalOperatorType::LOGICAL_PROJECTION: {
      auto below = expression.Copy();
      if (Substitute(&below, op.Cast<duckdb::LogicalProjection>().table_index, op.expressions)) {
        FindWhereRange(root, *op.children[0], *below, range);
      }
      return;
    }
    case LogicalOperatorType::LOGICAL_CTE_REF: {
      const auto& cte = op.Cast<duckdb::LogicalCTERef>();
      auto* definition = FindCte(root, cte.cte_index);
      if (!definition) return;
      definition->ResolveOperatorTypes();
      const auto bindings = definition->GetColumnBindings();
      duckdb::vector<duckdb::unique_ptr<Expression>> columns;
      for (duckdb::idx_t i = 0; i < bindings.size(); ++i) {
        columns.push_back(
            duckdb::make_uniq<duckdb::BoundColumnRefExpression>(definition->types[i], bindings[i]));
      }
      auto inside = expression.Copy();
      if (Substitute(&inside, cte.table_index, columns)) {
        FindWhereRange(root, *definition, *inside, range);
      }
      return;
    }
    case LogicalOperatorType::LOGICAL_UNION:
    case LogicalOperatorType::LOGICAL_EXCEPT:
    case LogicalOperatorType::LOGICAL_INTERSECT:
    case LogicalOperatorType::LOGICAL_RECURSIVE_CTE:
    case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY: return;
    default: break;
  }
  // Tables have numbers of their own, so a child with other columns finds nothing.
  for (const auto& child : op.children) FindWhereRange(root, *child, expression, range);
}

}  // namespace timelake::sql

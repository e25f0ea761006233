#include "sql/rewrite/plan_chain.h"

#include <algorithm>

#include <duckdb/planner/expression/bound_columnref_expression.hpp>
#include <duckdb/planner/expression_iterator.hpp>
#include <duckdb/planner/operator/logical_cteref.hpp>
#include <duckdb/planner/operator/logical_materialized_cte.hpp>
#include <duckdb/planner/operator/logical_projection.hpp>

#include "sql/scan_function.h"

namespace timelake::sql {

namespace {

using duckdb::Expression;
using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;

void Collect(LogicalOperator& op, SingleCtes* ctes, std::map<duckdb::idx_t, int>* references) {
  if (op.type == LogicalOperatorType::LOGICAL_MATERIALIZED_CTE) {
    auto& cte = op.Cast<duckdb::LogicalMaterializedCTE>();
    (*ctes)[cte.table_index] = cte.children[0].get();
  } else if (op.type == LogicalOperatorType::LOGICAL_CTE_REF) {
    ++(*references)[op.Cast<duckdb::LogicalCTERef>().cte_index];
  }
  for (auto& child : op.children) Collect(*child, ctes, references);
}

}  // namespace

SingleCtes FindSingleCtes(LogicalOperator& plan) {
  SingleCtes ctes;
  std::map<duckdb::idx_t, int> references;
  Collect(plan, &ctes, &references);
  std::erase_if(ctes, [&](const auto& cte) { return references[cte.first] != 1; });
  return ctes;
}

std::optional<PlanChain> PlanChain::Make(LogicalOperator& top, const SingleCtes& ctes) {
  PlanChain chain;
  LogicalOperator* op = &top;
  while (true) {
    switch (op->type) {
      case LogicalOperatorType::LOGICAL_FILTER:
      case LogicalOperatorType::LOGICAL_PROJECTION:
        chain.operators_.push_back(op);
        op = op->children[0].get();
        continue;
      case LogicalOperatorType::LOGICAL_CTE_REF: {
        const auto& reference = op->Cast<duckdb::LogicalCTERef>();
        const auto found = ctes.find(reference.cte_index);
        if (found == ctes.end() || reference.is_recurring) return std::nullopt;
        chain.ctes_[reference.table_index] = found->second;
        op = found->second;
        continue;
      }
      case LogicalOperatorType::LOGICAL_GET: {
        auto& get = op->Cast<duckdb::LogicalGet>();
        if (!IsScan(get) || !get.table_filters.filters.empty()) return std::nullopt;
        chain.get_ = &get;
        return chain;
      }
      default: return std::nullopt;
    }
  }
}

std::optional<duckdb::idx_t> PlanChain::Column(const Expression& expression) const {
  const Expression* current = &expression;
  duckdb::unique_ptr<Expression> held;
  for (size_t steps = 0; steps <= operators_.size() + ctes_.size(); ++steps) {
    if (current->GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) {
      return std::nullopt;
    }
    const auto& ref = current->Cast<duckdb::BoundColumnRefExpression>();
    if (ref.depth != 0) return std::nullopt;
    if (ref.binding.table_index == get_->table_index) {
      const auto& columns = get_->GetColumnIds();
      if (ref.binding.column_index >= columns.size()) return std::nullopt;
      const auto& column = columns[ref.binding.column_index];
      if (column.IsVirtualColumn() || column.HasChildren()) return std::nullopt;
      return column.GetPrimaryIndex();
    }
    if (const auto cte = ctes_.find(ref.binding.table_index); cte != ctes_.end()) {
      const auto bindings = cte->second->GetColumnBindings();
      if (ref.binding.column_index >= bindings.size()) return std::nullopt;
      held = duckdb::make_uniq<duckdb::BoundColumnRefExpression>(
          ref.return_type, bindings[ref.binding.column_index]);
      current = held.get();
      continue;
    }
    const auto projection =
        std::find_if(operators_.begin(), operators_.end(), [&](const LogicalOperator* op) {
          return op->type == LogicalOperatorType::LOGICAL_PROJECTION &&
                 op->Cast<duckdb::LogicalProjection>().table_index == ref.binding.table_index;
        });
    if (projection == operators_.end()) return std::nullopt;
    current = (*projection)->expressions.at(ref.binding.column_index).get();
  }
  return std::nullopt;
}

std::vector<const Expression*> PlanChain::Conditions() const {
  std::vector<const Expression*> conditions;
  for (const LogicalOperator* op : operators_) {
    if (op->type != LogicalOperatorType::LOGICAL_FILTER) continue;
    for (const auto& condition : op->expressions) conditions.push_back(condition.get());
  }
  return conditions;
}

bool PlanChain::UsesOnly(const Expression& expression,
                         const std::vector<duckdb::idx_t>& columns) const {
  if (expression.IsVolatile() || expression.HasSubquery()) return false;
  if (expression.GetExpressionClass() == duckdb::ExpressionClass::BOUND_COLUMN_REF) {
    const auto column = Column(expression);
    return column && std::find(columns.begin(), columns.end(), *column) != columns.end();
  }
  bool only = true;
  duckdb::ExpressionIterator::EnumerateChildren(
      expression, [&](const Expression& child) { only = only && UsesOnly(child, columns); });
  return only;
}

}  // namespace timelake::sql

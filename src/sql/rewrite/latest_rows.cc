#include "sql/rewrite/latest_rows.h"

#include <algorithm>
#include <set>

#include <arrow/array/array_base.h>
#include <duckdb/execution/expression_executor.hpp>
#include <duckdb/main/config.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/optimizer/optimizer_extension.hpp>
#include <duckdb/planner/bound_result_modifier.hpp>
#include <duckdb/planner/expression/bound_aggregate_expression.hpp>
#include <duckdb/planner/expression/bound_columnref_expression.hpp>
#include <duckdb/planner/expression/bound_comparison_expression.hpp>
#include <duckdb/planner/expression/bound_conjunction_expression.hpp>
#include <duckdb/planner/expression/bound_window_expression.hpp>
#include <duckdb/planner/operator/logical_aggregate.hpp>
#include <duckdb/planner/operator/logical_cteref.hpp>
#include <duckdb/planner/operator/logical_distinct.hpp>
#include <duckdb/planner/operator/logical_limit.hpp>
#include <duckdb/planner/operator/logical_order.hpp>
#include <duckdb/planner/operator/logical_projection.hpp>
#include <duckdb/planner/operator/logical_window.hpp>

#include "sql/filters.h"
#include "sql/functions/plan_tools.h"
#include "sql/rewrite/plan_chain.h"
#include "sql/scan_function.h"

namespace timelake::sql {

namespace {

using duckdb::Expression;
using duckdb::ExpressionType;
using duckdb::idx_t;
using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;

// A chain below a candidate, with the columns of the table that matter.
struct Candidate {
  PlanChain chain;
  std::shared_ptr<const TableVersion> table;
  std::vector<idx_t> key;  // positions in the schema
  idx_t time = 0;

  bool IsTime(const Expression& expression) const { return chain.Column(expression) == time; }
};

std::optional<idx_t> PositionOf(const iceberg::Schema& schema, int field_id) {
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    if (schema.fields[i].id == field_id) return i;
  }
  return std::nullopt;
}

// Nothing if the chain does not end in a table with series or a filter in it is on another column.
std::optional<Candidate> CandidateBelow(LogicalOperator& top, const SingleCtes& ctes) {
  auto chain = PlanChain::Make(top, ctes);
  if (!chain) return std::nullopt;
  Candidate candidate{.chain = *std::move(chain), .table = nullptr, .key = {}, .time = 0};
  candidate.table = TableOf(candidate.chain.get());
  const table::Contract& contract = candidate.table->contract;
  if (!contract.is_time_series() || !candidate.table->latest) return std::nullopt;
  const iceberg::Schema& schema = *candidate.table->schema;
  const auto time = PositionOf(schema, *contract.time_id);
  if (!time) return std::nullopt;
  candidate.time = *time;
  for (int id : contract.key_ids) {
    const auto position = PositionOf(schema, id);
    if (!position) return std::nullopt;
    candidate.key.push_back(*position);
  }
  for (const Expression* condition : candidate.chain.Conditions()) {
    if (!candidate.chain.UsesOnly(*condition, candidate.key)) return std::nullopt;
  }
  return candidate;
}

// Whether the expressions are the columns of the key, all of them and no other.
template <typename Expressions>
bool AreTheKey(const Candidate& candidate, const Expressions& expressions) {
  std::set<idx_t> columns;
  for (const auto& expression : expressions) {
    const auto column = candidate.chain.Column(*expression);
    if (!column) return false;
    columns.insert(*column);
  }
  return columns == std::set<idx_t>(candidate.key.begin(), candidate.key.end());
}

bool IsTimeDescending(const Candidate& candidate, const duckdb::BoundOrderByNode& order) {
  return order.type == duckdb::OrderType::DESCENDING && candidate.IsTime(*order.expression);
}

class Rewriter {
 public:
  Rewriter(duckdb::ClientContext& context, LogicalOperator& plan)
      : context_(context), plan_(plan), ctes_(FindSingleCtes(plan)) {}

  void Visit(LogicalOperator& op) {
    switch (op.type) {
      case LogicalOperatorType::LOGICAL_FILTER: VisitFilter(op); break;
      case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY:
        VisitAggregate(op.Cast<duckdb::LogicalAggregate>());
        break;
      case LogicalOperatorType::LOGICAL_LIMIT: VisitLimit(op.Cast<duckdb::LogicalLimit>()); break;
      default: break;
    }
    for (auto& child : op.children) {
      if (child->type == LogicalOperatorType::LOGICAL_DISTINCT) VisitDistinct(child);
      Visit(*child);
    }
  }

 private:
  // A number; constants may still be casts.
  std::optional<int64_t> Number(const Expression& expression) const {
    duckdb::Value value;
    if (!expression.IsFoldable() ||
        !duckdb::ExpressionExecutor::TryEvaluateScalar(context_, expression, value) ||
        value.IsNull() || !value.type().IsIntegral()) {
      return std::nullopt;
    }
    return value.GetValue<int64_t>();
  }

  // The column that has to be 1 (or at most 1) for the condition to hold.
  const Expression* MustBeOne(const Expression& condition) const {
    if (condition.GetExpressionClass() != duckdb::ExpressionClass::BOUND_COMPARISON) return nullptr;
    const auto& comparison = condition.Cast<duckdb::BoundComparisonExpression>();
    const Expression* column = comparison.left.get();
    const Expression* constant = comparison.right.get();
    ExpressionType type = comparison.GetExpressionType();
    if (column->IsFoldable()) {
      std::swap(column, constant);
      type = duckdb::FlipComparisonExpression(type);
    }
    const auto number = Number(*constant);
    const bool one = (type == ExpressionType::COMPARE_EQUAL && number == 1) ||
                     (type == ExpressionType::COMPARE_LESSTHANOREQUALTO && number == 1) ||
                     (type == ExpressionType::COMPARE_LESSTHAN && number == 2);
    return one ? column : nullptr;
  }

  // The window operator below projections, and what of it the expression is.
  struct WindowColumn {
    duckdb::LogicalWindow* window = nullptr;
    idx_t index = 0;
  };
  std::optional<WindowColumn> FindWindow(LogicalOperator& below, const Expression& column) const {
    LogicalOperator* op = &below;
    const Expression* current = &column;
    duckdb::unique_ptr<Expression> held;
    while (current->GetExpressionClass() == duckdb::ExpressionClass::BOUND_COLUMN_REF) {
      const auto binding = current->Cast<duckdb::BoundColumnRefExpression>().binding;
      if (op->type == LogicalOperatorType::LOGICAL_PROJECTION) {
        const auto& projection = op->Cast<duckdb::LogicalProjection>();
        if (projection.table_index != binding.table_index) return std::nullopt;
        current = projection.expressions.at(binding.column_index).get();
        op = op->children[0].get();
      } else if (op->type == LogicalOperatorType::LOGICAL_CTE_REF) {
        const auto& reference = op->Cast<duckdb::LogicalCTERef>();
        const auto cte = ctes_.find(reference.cte_index);
        if (cte == ctes_.end() || reference.table_index != binding.table_index) {
          return std::nullopt;
        }
        const auto bindings = cte->second->GetColumnBindings();
        if (binding.column_index >= bindings.size()) return std::nullopt;
        held = duckdb::make_uniq<duckdb::BoundColumnRefExpression>(current->return_type,
                                                                   bindings[binding.column_index]);
        current = held.get();
        op = cte->second;
      } else if (op->type == LogicalOperatorType::LOGICAL_WINDOW) {
        auto& window = op->Cast<duckdb::LogicalWindow>();
        if (window.window_index != binding.table_index) return std::nullopt;
        return WindowColumn{&window, binding.column_index};
      } else {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  void VisitFilter(LogicalOperator& filter) {
    for (const auto& condition : filter.expressions) {
      const Expression* column = MustBeOne(*condition);
      if (!column) continue;
      const auto found = FindWindow(*filter.children[0], *column);
      if (!found) continue;
      const auto candidate = CandidateBelow(*found->window->children[0], ctes_);
      if (!candidate) continue;
      const auto& numbers = found->window->expressions;
      const bool all = std::all_of(numbers.begin(), numbers.end(), [&](const auto& expression) {
        return IsNumberOfNewest(*candidate, *expression);
      });
      if (all && Take(*candidate, {})) RemoveNumbers(*found->window);
      return;
    }
  }

  // Each series has one row now, which is its first. Without the operator DuckDB need not group the
  // rows of the index.
  void RemoveNumbers(duckdb::LogicalWindow& window) {
    duckdb::unique_ptr<LogicalOperator>* slot = FindBelowSelect(plan_, window);
    if (!slot) return;
    const idx_t numbers = window.window_index;
    plan::ReplaceInPlan(plan_, [&](plan::Expr& expression) {
      if (expression->GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) {
        return false;
      }
      const auto& ref = expression->Cast<duckdb::BoundColumnRefExpression>();
      if (ref.binding.table_index != numbers) return false;
      auto one = plan::Constant(duckdb::Value::BIGINT(1));
      one->SetAlias(expression->GetAlias());
      expression = std::move(one);
      return true;
    });
    auto rows = std::move(window.children[0]);
    *slot = std::move(rows);
    ctes_ = FindSingleCtes(plan_);
  }

  // Where the operator hangs, if what is above it asks for columns by name, not for all there are.
  static duckdb::unique_ptr<LogicalOperator>* FindBelowSelect(LogicalOperator& op,
                                                              const LogicalOperator& wanted) {
    for (auto& child : op.children) {
      if (child.get() == &wanted) {
        const bool by_name = op.type == LogicalOperatorType::LOGICAL_FILTER ||
                             op.type == LogicalOperatorType::LOGICAL_PROJECTION;
        return by_name ? &child : nullptr;
      }
      if (auto* slot = FindBelowSelect(*child, wanted)) return slot;
    }
    return nullptr;
  }

  static bool IsNumberOfNewest(const Candidate& candidate, const Expression& expression) {
    if (expression.GetExpressionType() != ExpressionType::WINDOW_ROW_NUMBER) return false;
    const auto& window = expression.Cast<duckdb::BoundWindowExpression>();
    return AreTheKey(candidate, window.partitions) && window.orders.size() == 1 &&
           IsTimeDescending(candidate, window.orders[0]) && window.arg_orders.empty() &&
           !window.filter_expr && window.exclude_clause == duckdb::WindowExcludeMode::NO_OTHER;
  }

  void VisitDistinct(duckdb::unique_ptr<LogicalOperator>& op) {
    auto& distinct = op->Cast<duckdb::LogicalDistinct>();
    if (distinct.distinct_type != duckdb::DistinctType::DISTINCT_ON || !distinct.order_by) return;
    const auto candidate = CandidateBelow(*distinct.children[0], ctes_);
    if (!candidate || !AreTheKey(*candidate, distinct.distinct_targets)) return;
    const auto& orders = distinct.order_by->orders;
    const auto of_key = [&](const duckdb::BoundOrderByNode& order) {
      const auto column = candidate->chain.Column(*order.expression);
      return column && std::find(candidate->key.begin(), candidate->key.end(), *column) !=
                           candidate->key.end();
    };
    const auto first = std::find_if_not(orders.begin(), orders.end(), of_key);
    if (first == orders.end() || first + 1 != orders.end()) return;
    if (!IsTimeDescending(*candidate, *first) || !Take(*candidate, {})) return;
    auto rows = std::move(distinct.children[0]);  // one of each series already
    op = std::move(rows);
    ctes_ = FindSingleCtes(plan_);
  }

  void VisitAggregate(duckdb::LogicalAggregate& aggregate) {
    if (aggregate.grouping_sets.size() > 1 || aggregate.expressions.empty()) return;
    const auto candidate = CandidateBelow(*aggregate.children[0], ctes_);
    if (!candidate) return;
    for (const auto& group : aggregate.groups) {
      if (!candidate->chain.UsesOnly(*group, candidate->key)) return;
    }
    std::vector<idx_t> values;  // must not be NULL in the newest rows
    for (const auto& expression : aggregate.expressions) {
      if (!IsOfNewest(*candidate, *expression, &values)) return;
    }
    Take(*candidate, values);
  }

  static bool IsOfNewest(const Candidate& candidate, const Expression& expression,
                         std::vector<idx_t>* values) {
    if (expression.GetExpressionClass() != duckdb::ExpressionClass::BOUND_AGGREGATE) return false;
    const auto& aggregate = expression.Cast<duckdb::BoundAggregateExpression>();
    if (aggregate.IsDistinct() || aggregate.filter || aggregate.order_bys) return false;
    const auto& name = aggregate.function.name;
    const auto& children = aggregate.children;
    if (name == "max" && children.size() == 1) return candidate.IsTime(*children[0]);
    // Of equal times `last` takes the greatest value, the index the one written last.
    const bool of_maximum = name == "arg_max" || name == "max_by" || name == "argmax" ||
                            ((name == "last" || name == "last_by") && candidate.table->dedup);
    if (!of_maximum || children.size() != 2 || !candidate.IsTime(*children[1])) return false;
    const auto column = candidate.chain.Column(*children[0]);
    if (column) values->push_back(*column);
    return column.has_value();
  }

  void VisitLimit(duckdb::LogicalLimit& limit) {
    using duckdb::LimitNodeType;
    if (limit.limit_val.Type() != LimitNodeType::CONSTANT_VALUE ||
        limit.limit_val.GetConstantValue() != 1 ||
        limit.offset_val.Type() != LimitNodeType::UNSET) {
      return;
    }
    LogicalOperator* op = limit.children[0].get();
    if (op->type == LogicalOperatorType::LOGICAL_PROJECTION) op = op->children[0].get();
    if (op->type != LogicalOperatorType::LOGICAL_ORDER_BY) return;
    const auto& orders = op->Cast<duckdb::LogicalOrder>().orders;
    const auto candidate = CandidateBelow(*op->children[0], ctes_);
    if (!candidate || orders.size() != 1 || !IsTimeDescending(*candidate, orders[0])) return;
    std::set<idx_t> fixed;
    for (const Expression* condition : candidate->chain.Conditions()) {
      AddFixed(*candidate, *condition, &fixed);
    }
    if (fixed.size() == candidate->key.size()) Take(*candidate, {});
  }

  // Columns that the condition fixes to one value.
  static void AddFixed(const Candidate& candidate, const Expression& condition,
                       std::set<idx_t>* fixed) {
    if (condition.GetExpressionType() == ExpressionType::CONJUNCTION_AND) {
      for (const auto& child : condition.Cast<duckdb::BoundConjunctionExpression>().children) {
        AddFixed(candidate, *child, fixed);
      }
    }
    if (condition.GetExpressionType() != ExpressionType::COMPARE_EQUAL) return;
    const auto& comparison = condition.Cast<duckdb::BoundComparisonExpression>();
    for (const auto& [column, constant] : {std::pair(&comparison.left, &comparison.right),
                                           std::pair(&comparison.right, &comparison.left)}) {
      const auto position = candidate.chain.Column(**column);
      if (position && (*constant)->IsFoldable()) fixed->insert(*position);
    }
  }

  // Lets the scan give the newest rows, if the index has them and none of these columns is NULL in
  // one of them (arg_max looks for an older row then).
  bool Take(const Candidate& candidate, const std::vector<idx_t>& not_null) {
    scan::Predicate series;  // that are asked for
    for (const Expression* condition : candidate.chain.Conditions()) {
      AddPruning(context_, candidate.chain.get(), *candidate.table->schema, *condition, &series);
    }
    const auto rows = candidate.table->latest(*candidate.table, series);
    if (!rows) return false;
    for (const idx_t column : not_null) {
      if (rows->column(static_cast<int>(column))->null_count() != 0) return false;
    }
    SetTable(candidate.chain.get(), LatestVersion(*candidate.table, rows));
    return true;
  }

  duckdb::ClientContext& context_;
  LogicalOperator& plan_;
  SingleCtes ctes_;
};

void PreOptimize(duckdb::OptimizerExtensionInput& input,
                 duckdb::unique_ptr<LogicalOperator>& plan) {
  Rewriter rewriter(input.context, *plan);
  rewriter.Visit(*plan);
}

}  // namespace

void RegisterLatestRows(duckdb::DatabaseInstance& database) {
  duckdb::OptimizerExtension extension;
  extension.pre_optimize_function = PreOptimize;
  duckdb::OptimizerExtension::Register(duckdb::DBConfig::GetConfig(database), std::move(extension));
}

}  // namespace timelake::sql

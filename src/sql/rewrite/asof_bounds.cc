#include "sql/rewrite/asof_bounds.h"

#include <optional>
#include <utility>

#include <duckdb/main/config.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/optimizer/optimizer_extension.hpp>
#include <duckdb/planner/expression/bound_columnref_expression.hpp>
#include <duckdb/planner/expression/bound_operator_expression.hpp>
#include <duckdb/planner/filter/null_filter.hpp>
#include <duckdb/planner/operator/logical_comparison_join.hpp>
#include <duckdb/planner/operator/logical_filter.hpp>
#include <duckdb/planner/operator/logical_get.hpp>
#include <duckdb/planner/operator/logical_projection.hpp>

#include "scan/facts.h"
#include "sql/scan_function.h"
#include "sql/scan_statistics.h"

namespace timelake::sql {

namespace {

using duckdb::Expression;
using duckdb::ExpressionType;
using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;
using scan::ColumnTest;
using scan::Op;

struct ScanColumn {
  duckdb::LogicalGet* get = nullptr;
  const iceberg::Field* field = nullptr;
};

// The column of a scan that the expression is, unchanged, through filters and projections.
std::optional<ScanColumn> Trace(LogicalOperator& below, const Expression& expression) {
  const Expression* current = &expression;
  for (LogicalOperator* op = &below;; op = op->children[0].get()) {
    if (current->GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) break;
    const auto binding = current->Cast<duckdb::BoundColumnRefExpression>().binding;
    if (op->type == LogicalOperatorType::LOGICAL_FILTER) continue;
    if (op->type == LogicalOperatorType::LOGICAL_PROJECTION) {
      const auto& projection = op->Cast<duckdb::LogicalProjection>();
      if (projection.table_index != binding.table_index) break;
      current = projection.expressions.at(binding.column_index).get();
      continue;
    }
    if (op->type != LogicalOperatorType::LOGICAL_GET) break;
    auto& get = op->Cast<duckdb::LogicalGet>();
    if (!IsScan(get) || AggregatesOf(get) || get.table_index != binding.table_index) break;
    const auto& columns = get.GetColumnIds();
    if (binding.column_index >= columns.size()) break;
    const auto& column = columns[binding.column_index];
    const auto& fields = TableOf(get)->schema->fields;
    if (column.IsVirtualColumn() || column.HasChildren() ||
        column.GetPrimaryIndex() >= fields.size()) {
      break;
    }
    return ScanColumn{&get, &fields[column.GetPrimaryIndex()]};
  }
  return std::nullopt;
}

bool IsEqual(const iceberg::Type& a, const iceberg::Type& b) {
  return a.is_primitive() && a.id == b.id && a.precision == b.precision && a.scale == b.scale &&
         a.length == b.length;
}

bool IsOrdered(Op op, bool upper) {
  return op == Op::kEq || (upper ? op == Op::kLt || op == Op::kLe : op == Op::kGt || op == Op::kGe);
}

// Of `from`, whose values are at least (`upper`) or at most those of `to` they meet.
void PassBound(const ScanColumn& from, const ScanColumn& to, bool upper, bool strict) {
  const auto add = [&](Op op, const iceberg::Value& value) {
    if (strict && op == Op::kLe) op = Op::kLt;
    if (strict && op == Op::kGe) op = Op::kGt;
    AddPruningTest(*to.get, {to.field->id, op, {value}});
  };
  const scan::Predicate known = PruningOf(*from.get);
  for (const ColumnTest& test : known.all_of) {
    if (test.field_id != from.field->id || test.values.size() != 1 || !IsOrdered(test.op, upper)) {
      continue;
    }
    const Op inclusive = upper ? Op::kLe : Op::kGe;
    add(test.op == Op::kEq ? inclusive : test.op, test.values[0]);
  }
  if (const auto bound = PlannedBound(*from.get, *from.field, upper)) {
    add(upper ? Op::kLe : Op::kGe, *bound);
  }
}

void PassEqual(const ScanColumn& from, const ScanColumn& to) {
  const scan::Predicate known = PruningOf(*from.get);
  for (const ColumnTest& test : known.all_of) {
    // Tests for NULL are not of the value; a NULL meets nothing.
    const bool of_value = test.op != Op::kIsNull && test.op != Op::kNotNull;
    if (test.field_id == from.field->id && of_value) {
      AddPruningTest(*to.get, {to.field->id, test.op, test.values});
    }
  }
}

// DuckDB 1.5 lets NULL meet NULL in ASOF joins of more than a few rows. So such rows are left out
// of the side whose rows are of no use without a match.
void DropNulls(duckdb::LogicalComparisonJoin& join) {
  const bool right = join.join_type != duckdb::JoinType::RIGHT;
  if (join.join_type == duckdb::JoinType::OUTER) return;
  auto& child = join.children[right ? 1 : 0];
  duckdb::vector<duckdb::unique_ptr<Expression>> conditions;
  for (const auto& condition : join.conditions) {
    if (condition.comparison != ExpressionType::COMPARE_EQUAL) continue;
    const Expression& column = right ? *condition.right : *condition.left;
    if (const auto scanned = Trace(*child, column)) {
      if (scanned->field->required) continue;
      const auto position = scanned->field - TableOf(*scanned->get)->schema->fields.data();
      scanned->get->table_filters.PushFilter(
          duckdb::ColumnIndex(static_cast<duckdb::idx_t>(position)),
          duckdb::make_uniq<duckdb::IsNotNullFilter>());
      continue;
    }
    auto not_null = duckdb::make_uniq<duckdb::BoundOperatorExpression>(
        ExpressionType::OPERATOR_IS_NOT_NULL, duckdb::LogicalType::BOOLEAN);
    not_null->children.push_back(column.Copy());
    conditions.push_back(std::move(not_null));
  }
  if (conditions.empty()) return;
  auto filter = duckdb::make_uniq<duckdb::LogicalFilter>();
  filter->expressions = std::move(conditions);
  if (child->has_estimated_cardinality) {
    filter->SetEstimatedCardinality(child->estimated_cardinality);
  }
  filter->children.push_back(std::move(child));
  filter->ResolveOperatorTypes();
  child = std::move(filter);
}

void VisitJoin(duckdb::LogicalComparisonJoin& join) {
  const bool inner = join.join_type == duckdb::JoinType::INNER;
  if (!inner && join.join_type != duckdb::JoinType::LEFT) return;
  for (const auto& condition : join.conditions) {
    const auto left = Trace(*join.children[0], *condition.left);
    const auto right = Trace(*join.children[1], *condition.right);
    if (!left || !right || !IsEqual(left->field->type, right->field->type)) continue;
    switch (condition.comparison) {
      case ExpressionType::COMPARE_EQUAL:
        PassEqual(*left, *right);
        if (inner) PassEqual(*right, *left);
        break;
      case ExpressionType::COMPARE_GREATERTHAN:
      case ExpressionType::COMPARE_GREATERTHANOREQUALTO:
      case ExpressionType::COMPARE_LESSTHAN:
      case ExpressionType::COMPARE_LESSTHANOREQUALTO: {
        const bool strict = condition.comparison == ExpressionType::COMPARE_GREATERTHAN ||
                            condition.comparison == ExpressionType::COMPARE_LESSTHAN;
        const bool backward = condition.comparison == ExpressionType::COMPARE_GREATERTHAN ||
                              condition.comparison == ExpressionType::COMPARE_GREATERTHANOREQUALTO;
        PassBound(*left, *right, backward, strict);
        if (inner) PassBound(*right, *left, !backward, strict);
        break;
      }
      default: break;
    }
  }
}

void Visit(LogicalOperator& op) {
  // Outer joins first: what they pass down is passed on by the inner ones.
  if (op.type == LogicalOperatorType::LOGICAL_ASOF_JOIN) {
    auto& join = op.Cast<duckdb::LogicalComparisonJoin>();
    VisitJoin(join);
    DropNulls(join);
  }
  for (auto& child : op.children) Visit(*child);
}

void Optimize(duckdb::OptimizerExtensionInput&, duckdb::unique_ptr<LogicalOperator>& plan) {
  Visit(*plan);
}

}  // namespace

void RegisterAsofBounds(duckdb::DatabaseInstance& database) {
  duckdb::OptimizerExtension extension;
  extension.optimize_function = Optimize;
  duckdb::OptimizerExtension::Register(duckdb::DBConfig::GetConfig(database), std::move(extension));
}

}  // namespace timelake::sql

#include "sql/filters.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include <duckdb/execution/expression_executor.hpp>
#include <duckdb/planner/expression/bound_between_expression.hpp>
#include <duckdb/planner/expression/bound_cast_expression.hpp>
#include <duckdb/planner/expression/bound_columnref_expression.hpp>
#include <duckdb/planner/expression/bound_comparison_expression.hpp>
#include <duckdb/planner/expression/bound_conjunction_expression.hpp>
#include <duckdb/planner/expression/bound_constant_expression.hpp>
#include <duckdb/planner/expression/bound_operator_expression.hpp>
#include <duckdb/planner/filter/in_filter.hpp>
#include <duckdb/planner/operator/logical_get.hpp>

#include "base/text.h"
#include "iceberg/value.h"
#include "sql/types.h"

namespace timelake::sql {

namespace {

using duckdb::Expression;
using duckdb::ExpressionType;
using iceberg::Value;
using scan::Op;

class Extractor {
 public:
  Extractor(duckdb::ClientContext& context, const duckdb::LogicalGet& get,
            const iceberg::Schema& schema, scan::Predicate* predicate)
      : context_(context), get_(get), schema_(schema), predicate_(predicate) {}

  void Add(const Expression& filter) {
    switch (filter.GetExpressionClass()) {
      case duckdb::ExpressionClass::BOUND_CONJUNCTION:
        if (filter.GetExpressionType() != ExpressionType::CONJUNCTION_AND) return;
        for (const auto& child : filter.Cast<duckdb::BoundConjunctionExpression>().children) {
          Add(*child);
        }
        return;
      case duckdb::ExpressionClass::BOUND_COMPARISON:
        return AddComparison(filter.Cast<duckdb::BoundComparisonExpression>());
      case duckdb::ExpressionClass::BOUND_BETWEEN:
        return AddBetween(filter.Cast<duckdb::BoundBetweenExpression>());
      case duckdb::ExpressionClass::BOUND_OPERATOR:
        return AddOperator(filter.Cast<duckdb::BoundOperatorExpression>());
      case duckdb::ExpressionClass::BOUND_COLUMN_REF:
        if (filter.return_type.id() == duckdb::LogicalTypeId::BOOLEAN) AddFlag(filter, true);
        return;
      default: return;
    }
  }

  std::optional<InList> List(const Expression& filter) const {
    if (filter.GetExpressionType() != ExpressionType::COMPARE_IN) return std::nullopt;
    const auto& in = filter.Cast<duckdb::BoundOperatorExpression>();
    if (in.children[0]->GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) {
      return std::nullopt;
    }
    const iceberg::Field* field = Column(*in.children[0]);
    if (!field) return std::nullopt;
    duckdb::vector<duckdb::Value> values;
    for (size_t i = 1; i < in.children.size(); ++i) {
      duckdb::Value value;
      if (in.children[i]->HasParameter() || !in.children[i]->IsFoldable() ||
          !duckdb::ExpressionExecutor::TryEvaluateScalar(context_, *in.children[i], value) ||
          value.IsNull() || value.type() != in.children[0]->return_type) {
        return std::nullopt;
      }
      values.push_back(std::move(value));
    }
    return InList{field, std::make_shared<duckdb::InFilter>(std::move(values))};
  }

 private:
  // The column that the expression is, if it is one and nothing more (but a widening cast).
  const iceberg::Field* Column(const Expression& expression) const {
    const Expression* inner = &expression;
    if (inner->GetExpressionClass() == duckdb::ExpressionClass::BOUND_CAST) {
      const auto& cast = inner->Cast<duckdb::BoundCastExpression>();
      const bool widens = cast.return_type.id() == duckdb::LogicalTypeId::BIGINT &&
                          cast.child->return_type.id() == duckdb::LogicalTypeId::INTEGER;
      if (!widens) return nullptr;
      inner = cast.child.get();
    }
    if (inner->GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) return nullptr;
    const auto& ref = inner->Cast<duckdb::BoundColumnRefExpression>();
    if (ref.depth != 0 || ref.binding.table_index != get_.table_index) return nullptr;
    const auto& columns = get_.GetColumnIds();
    if (ref.binding.column_index >= columns.size()) return nullptr;
    const auto& column = columns[ref.binding.column_index];
    if (column.IsVirtualColumn() || column.HasChildren()) return nullptr;
    if (column.GetPrimaryIndex() >= schema_.fields.size()) return nullptr;
    const iceberg::Field& field = schema_.fields[column.GetPrimaryIndex()];
    return field.type.is_primitive() ? &field : nullptr;
  }

  std::optional<Value> Constant(const Expression& expression, const iceberg::Field& field) const {
    if (expression.HasParameter() || !expression.IsFoldable()) return std::nullopt;
    duckdb::Value value;
    if (!duckdb::ExpressionExecutor::TryEvaluateScalar(context_, expression, value)) {
      return std::nullopt;
    }
    return ToIcebergValue(value, field.type);
  }

  void AddTest(const iceberg::Field& field, Op op, std::vector<Value> values) {
    sql::AddTest({field.id, op, std::move(values)}, predicate_);
  }

  void AddOrdered(const iceberg::Field& field, Op op, const Value& value) {
    sql::AddTest(OrderedTest(field, op, value), predicate_);
  }
  void AddIn(const duckdb::BoundOperatorExpression& in);

  void AddComparison(const duckdb::BoundComparisonExpression& comparison) {
    ExpressionType type = comparison.GetExpressionType();
    const Expression* column_side = comparison.left.get();
    const Expression* constant_side = comparison.right.get();
    if (!Column(*column_side)) {
      std::swap(column_side, constant_side);
      type = duckdb::FlipComparisonExpression(type);
    }
    const iceberg::Field* field = Column(*column_side);
    if (!field) return;
    const auto value = Constant(*constant_side, *field);
    if (!value) return;
    switch (type) {
      case ExpressionType::COMPARE_EQUAL: return AddOrdered(*field, Op::kEq, *value);
      case ExpressionType::COMPARE_NOTEQUAL: return AddTest(*field, Op::kNotEq, {*value});
      case ExpressionType::COMPARE_LESSTHAN: return AddOrdered(*field, Op::kLt, *value);
      case ExpressionType::COMPARE_LESSTHANOREQUALTO: return AddOrdered(*field, Op::kLe, *value);
      case ExpressionType::COMPARE_GREATERTHAN: return AddOrdered(*field, Op::kGt, *value);
      case ExpressionType::COMPARE_GREATERTHANOREQUALTO: return AddOrdered(*field, Op::kGe, *value);
      default: return;
    }
  }

  void AddBetween(const duckdb::BoundBetweenExpression& between) {
    const iceberg::Field* field = Column(*between.input);
    if (!field) return;
    // The text of a BETWEEN looks inclusive; only the flags tell.
    if (const auto lower = Constant(*between.lower, *field)) {
      AddOrdered(*field, between.lower_inclusive ? Op::kGe : Op::kGt, *lower);
    }
    if (const auto upper = Constant(*between.upper, *field)) {
      AddOrdered(*field, between.upper_inclusive ? Op::kLe : Op::kLt, *upper);
    }
  }

  void AddOperator(const duckdb::BoundOperatorExpression& op) {
    switch (op.GetExpressionType()) {
      case ExpressionType::COMPARE_IN: return AddIn(op);
      case ExpressionType::OPERATOR_IS_NULL:
      case ExpressionType::OPERATOR_IS_NOT_NULL:
        if (const iceberg::Field* field = Column(*op.children[0])) {
          const bool null = op.GetExpressionType() == ExpressionType::OPERATOR_IS_NULL;
          AddTest(*field, null ? Op::kIsNull : Op::kNotNull, {});
        }
        return;
      case ExpressionType::OPERATOR_NOT:
        if (op.children[0]->GetExpressionClass() == duckdb::ExpressionClass::BOUND_COLUMN_REF) {
          AddFlag(*op.children[0], false);
        }
        return;
      default: return;
    }
  }

  void AddFlag(const Expression& column, bool value) {
    const iceberg::Field* field = Column(column);
    if (field) AddTest(*field, Op::kEq, {Value(value)});
  }

  duckdb::ClientContext& context_;
  const duckdb::LogicalGet& get_;
  const iceberg::Schema& schema_;
  scan::Predicate* predicate_;
};

// The same number with the other sign if it is a zero: SQL says they are equal, bounds order them.
std::optional<std::pair<Value, Value>> Zeros(const Value& value) {
  if (const auto* f = std::get_if<float>(&value); f && *f == 0) {
    return std::pair(Value(-0.0F), Value(0.0F));
  }
  if (const auto* d = std::get_if<double>(&value); d && *d == 0) {
    return std::pair(Value(-0.0), Value(0.0));
  }
  return std::nullopt;
}

void Extractor::AddIn(const duckdb::BoundOperatorExpression& in) {
  const iceberg::Field* field = Column(*in.children[0]);
  if (!field) return;
  std::vector<Value> values;
  for (size_t i = 1; i < in.children.size(); ++i) {
    auto value = Constant(*in.children[i], *field);
    if (!value) return;  // one that cannot be told might match anything
    if (const auto zeros = Zeros(*value)) {
      values.push_back(zeros->first);
      values.push_back(zeros->second);
    } else {
      values.push_back(*std::move(value));
    }
  }
  AddTest(*field, Op::kIn, std::move(values));
}

std::string_view OpText(Op op) {
  switch (op) {
    case Op::kEq: return " = ";
    case Op::kNotEq: return " <> ";
    case Op::kLt: return " < ";
    case Op::kLe: return " <= ";
    case Op::kGt: return " > ";
    case Op::kGe: return " >= ";
    case Op::kIn: return " in ";
    case Op::kIsNull: return " is null";
    case Op::kNotNull: return " is not null";
  }
  return "";
}

}  // namespace

scan::ColumnTest OrderedTest(const iceberg::Field& field, Op op, const Value& value) {
  const auto zeros = Zeros(value);
  if (!zeros) return {field.id, op, {value}};
  switch (op) {
    case Op::kEq: return {field.id, Op::kIn, {zeros->first, zeros->second}};
    case Op::kLt:
    case Op::kLe: return {field.id, op, {zeros->second}};
    default: return {field.id, op, {zeros->first}};
  }
}

void AddTest(scan::ColumnTest test, scan::Predicate* predicate) {
  const auto same = [&](const scan::ColumnTest& known) {
    return known.field_id == test.field_id && known.op == test.op && known.values == test.values;
  };
  if (std::none_of(predicate->all_of.begin(), predicate->all_of.end(), same)) {
    predicate->all_of.push_back(std::move(test));
  }
}

void AddPruning(duckdb::ClientContext& context, const duckdb::LogicalGet& get,
                const iceberg::Schema& schema, const Expression& filter,
                scan::Predicate* predicate) {
  Extractor(context, get, schema, predicate).Add(filter);
}

std::optional<InList> InListOf(duckdb::ClientContext& context, const duckdb::LogicalGet& get,
                               const iceberg::Schema& schema, const Expression& filter) {
  return Extractor(context, get, schema, nullptr).List(filter);
}

std::string ToText(const iceberg::Schema& schema, const scan::Predicate& predicate) {
  constexpr size_t kShown = 8;  // of a long IN list
  std::vector<std::string> tests;
  for (const scan::ColumnTest& test : predicate.all_of) {
    const iceberg::Field* field = iceberg::FindFieldById(schema, test.field_id);
    if (!field) continue;
    std::vector<std::string> values;
    for (const Value& value : test.values) {
      if (values.size() == kShown) {
        values.push_back("...");
        break;
      }
      values.push_back(iceberg::ToText(field->type, value));
    }
    std::string list = Join(values, ", ");
    if (test.op == Op::kIn) list = "(" + list + ")";
    tests.push_back(field->name + std::string(OpText(test.op)) + list);
  }
  return Join(tests, ", ");
}

}  // namespace timelake::sql

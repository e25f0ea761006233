#include "sql/functions/bucket_filter.h"

#include <optional>
#include <utility>

#include <duckdb/common/types/timestamp.hpp>
#include <duckdb/execution/expression_executor.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/planner/expression/bound_between_expression.hpp>
#include <duckdb/planner/expression/bound_comparison_expression.hpp>
#include <duckdb/planner/expression/bound_constant_expression.hpp>
#include <duckdb/planner/expression/bound_function_expression.hpp>

#include "sql/error.h"
#include "sql/functions/bucket_arguments.h"

namespace timelake::sql {

namespace {

using duckdb::Expression;
using duckdb::ExpressionType;
using duckdb::LogicalTypeId;
using duckdb::Value;

struct TimeRange {
  std::optional<int64_t> from;    // included
  std::optional<int64_t> before;  // not included
};

bool IsBucket(const Expression& expression) {
  if (expression.GetExpressionClass() != duckdb::ExpressionClass::BOUND_FUNCTION) return false;
  const auto& call = expression.Cast<duckdb::BoundFunctionExpression>();
  const auto type = call.return_type.id();
  return call.function.name == "time_bucket" && call.children.size() >= 2 &&
         (type == LogicalTypeId::TIMESTAMP || type == LogicalTypeId::TIMESTAMP_TZ);
}

std::optional<Value> ConstantValue(duckdb::ClientContext& context, const Expression& expression) {
  Value value;
  if (expression.HasParameter() || !expression.IsFoldable()) return std::nullopt;
  if (!duckdb::ExpressionExecutor::TryEvaluateScalar(context, expression, value)) {
    return std::nullopt;
  }
  return value;
}

// The grid of a call whose arguments but the time are constant and valid.
std::optional<BucketGrid> GridOf(duckdb::ClientContext& context,
                                 const duckdb::BoundFunctionExpression& call) {
  duckdb::vector<duckdb::LogicalType> types;
  for (const auto& child : call.children) types.push_back(child->return_type);
  GridMaker maker(context, "time_bucket");
  const auto arguments = ConstantBucketArguments(context, types, call.children, maker);
  if (!arguments) return std::nullopt;
  return *maker.Get(*arguments);
}

// Adds what `bucket <comparison> value` says.
void Narrow(BucketGrid* grid, ExpressionType comparison, int64_t value, TimeRange* range) {
  int64_t bucket = 0, next = 0;
  if (!grid->Floor(value, &bucket) || !grid->Next(bucket, &next)) return;
  const int64_t not_below = bucket == value ? value : next;  // the first bucket that is >= value
  switch (comparison) {
    case ExpressionType::COMPARE_GREATERTHANOREQUALTO: range->from = not_below; break;
    case ExpressionType::COMPARE_GREATERTHAN: range->from = next; break;
    case ExpressionType::COMPARE_LESSTHANOREQUALTO: range->before = next; break;
    case ExpressionType::COMPARE_LESSTHAN: range->before = not_below; break;
    case ExpressionType::COMPARE_EQUAL:
      range->from = not_below;
      range->before = next;
      break;
    default: break;
  }
}

class Implied {
 public:
  explicit Implied(duckdb::ClientContext& context) : context_(context) {}

  void Add(const Expression& bucket, ExpressionType comparison, const Expression& value) {
    if (!IsBucket(bucket)) return;
    const auto constant = ConstantValue(context_, value);
    if (!constant || constant->IsNull() || constant->type() != bucket.return_type) return;
    const auto time = constant->GetValueUnsafe<duckdb::timestamp_t>();
    if (!duckdb::Timestamp::IsFinite(time)) return;
    const auto& call = bucket.Cast<duckdb::BoundFunctionExpression>();
    auto grid = GridOf(context_, call);
    if (!grid) return;
    Narrow(&*grid, comparison, time.value, &range_);
    time_ = call.children[1].get();
  }

  duckdb::vector<duckdb::unique_ptr<Expression>> Comparisons() const {
    duckdb::vector<duckdb::unique_ptr<Expression>> comparisons;
    const auto add = [&](ExpressionType type, const std::optional<int64_t>& bound) {
      if (!bound || !duckdb::Timestamp::IsFinite(duckdb::timestamp_t(*bound))) return;
      Value value = time_->return_type.id() == LogicalTypeId::TIMESTAMP
                        ? Value::TIMESTAMP(duckdb::timestamp_t(*bound))
                        : Value::TIMESTAMPTZ(duckdb::timestamp_tz_t(*bound));
      comparisons.push_back(duckdb::make_uniq<duckdb::BoundComparisonExpression>(
          type, time_->Copy(),
          duckdb::make_uniq<duckdb::BoundConstantExpression>(std::move(value))));
    };
    add(ExpressionType::COMPARE_GREATERTHANOREQUALTO, range_.from);
    add(ExpressionType::COMPARE_LESSTHAN, range_.before);
    return comparisons;
  }

 private:
  duckdb::ClientContext& context_;
  const Expression* time_ = nullptr;
  TimeRange range_;
};

}  // namespace

duckdb::vector<duckdb::unique_ptr<Expression>> ImpliedByBucket(duckdb::ClientContext& context,
                                                               const Expression& filter) {
  Implied implied(context);
  const auto add_all = [&] {
    if (filter.GetExpressionClass() == duckdb::ExpressionClass::BOUND_BETWEEN) {
      const auto& between = filter.Cast<duckdb::BoundBetweenExpression>();
      implied.Add(*between.input, between.LowerComparisonType(), *between.lower);
      implied.Add(*between.input, between.UpperComparisonType(), *between.upper);
    } else if (filter.GetExpressionClass() == duckdb::ExpressionClass::BOUND_COMPARISON) {
      const auto& comparison = filter.Cast<duckdb::BoundComparisonExpression>();
      const auto type = comparison.GetExpressionType();
      implied.Add(*comparison.left, type, *comparison.right);
      implied.Add(*comparison.right, duckdb::FlipComparisonExpression(type), *comparison.left);
    }
    return Status::OK();
  };
  // Wrong arguments are reported when the filter runs.
  if (!Guard(add_all).ok()) return {};
  return implied.Comparisons();
}

}  // namespace timelake::sql

// time_bucket_gapfill, locf and interpolate as a rewrite of the bound plan.
//
// Why here: filling gaps needs the groups of a whole query, so it cannot be a scalar function or an
// aggregate. A table macro cannot see the query's keys, aggregates or WHERE clause; rewriting the
// text or the parse tree would have to resolve names, GROUP BY 1 / ALL, HAVING and QUALIFY a second
// time. The bound plan has all that resolved, also in views, CTEs, sub-queries and prepared
// statements. The rewrite only uses operators that DuckDB has (window, unnest, projection, union),
// so memory limits, spilling, threads, cancellation and EXPLAIN are DuckDB's. It runs before
// DuckDB's optimizer, while HAVING is right above the aggregate and WHERE below it; without an
// optimizer (PRAGMA disable_optimizer) the function reports that it needs one.
//
//   [windows, QUALIFY, SELECT list]        with locf(x) and interpolate(x) replaced
//   WINDOW                                 what those need: last and next known value and its time
//   PROJECTION                             bucket, keys, and the rest: NULL if the bucket is new
//   UNNEST timelake_gap_buckets(...)       buckets of a band
//   UNNEST timelake_gap_bands(...)         the row's own bucket and bands of missing ones after it
//   WINDOW lag, lead                       neighbours of the bucket within the keys
//   PROJECTION [or UNION ALL with a row of NULLs, which stands for an empty result without keys]
//   [HAVING] AGGREGATE                     by time_bucket(...) and keys

#include <functional>
#include <string>
#include <utility>

#include <duckdb/common/error_data.hpp>
#include <duckdb/function/function_binder.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/main/config.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/optimizer/optimizer.hpp>
#include <duckdb/optimizer/optimizer_extension.hpp>
#include <duckdb/planner/binder.hpp>
#include <duckdb/planner/expression/bound_cast_expression.hpp>
#include <duckdb/planner/expression/bound_columnref_expression.hpp>
#include <duckdb/planner/expression/bound_comparison_expression.hpp>
#include <duckdb/planner/expression/bound_function_expression.hpp>
#include <duckdb/planner/expression/bound_unnest_expression.hpp>
#include <duckdb/planner/expression/bound_window_expression.hpp>
#include <duckdb/planner/operator/logical_aggregate.hpp>
#include <duckdb/planner/operator/logical_dummy_scan.hpp>
#include <duckdb/planner/operator/logical_projection.hpp>
#include <duckdb/planner/operator/logical_set_operation.hpp>
#include <duckdb/planner/operator/logical_unnest.hpp>
#include <duckdb/planner/operator/logical_window.hpp>

#include "sql/error.h"
#include "sql/functions/gapfill_names.h"
#include "sql/functions/plan_tools.h"
#include "sql/functions/register.h"
#include "sql/functions/where_range.h"

namespace timelake::sql {

namespace {

using namespace plan;  // NOLINT: the vocabulary of this file
using duckdb::make_uniq;

bool IsFill(const Expression& expression) {
  return IsCall(expression, kLocf) || IsCall(expression, kInterpolate);
}

// One aggregate with a gapfill among its groups, being rewritten.
class Gapfill {
 public:
  // `path` leads from the plan to the aggregate: slots of operators.
  Gapfill(duckdb::OptimizerExtensionInput& input, Plan& plan, duckdb::vector<Plan*> path)
      : context_(input.context),
        binder_(input.optimizer.binder),
        plan_(plan),
        path_(std::move(path)) {}

  void Rewrite() {
    auto& aggregate = (*path_.back())->Cast<duckdb::LogicalAggregate>();
    TakeCall(aggregate);
    FindInput();
    const Columns input = ColumnsOf(**input_slot_);
    const ColumnBinding bucket(aggregate.group_index, bucket_group_);
    auto fills = TakeFills();

    Plan op = std::move(*input_slot_);
    op = AddMarkers(std::move(op), input, bucket, aggregate);
    op = AddNeighbours(std::move(op));
    op = AddBuckets(std::move(op));
    op = AddResult(std::move(op));
    const Columns output = ColumnsOf(*op);

    // The plan above now reads the result's columns.
    const auto redirect = [&](Expr& expression) {
      if (expression->GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) {
        return false;
      }
      auto& ref = expression->Cast<duckdb::BoundColumnRefExpression>();
      for (idx_t i = 0; i < input.size(); ++i) {
        if (ref.binding == input[i].binding) {
          ref.binding = output[i].binding;
          break;
        }
      }
      return true;
    };
    for (auto& fill : fills) ReplaceIn(fill, redirect);
    const idx_t fill_table = binder_.GenerateTableIndex();
    op = AddFills(std::move(op), output, fills, fill_table);
    *input_slot_ = make_uniq<duckdb::LogicalDummyScan>(binder_.GenerateTableIndex());
    ReplaceInPlan(*plan_, redirect);
    PutFills(output, fills, fill_table);
    *input_slot_ = std::move(op);
    plan_->ResolveOperatorTypes();
  }

 private:
  // Reads the call's arguments and puts time_bucket in its place.
  void TakeCall(duckdb::LogicalAggregate& aggregate) {
    idx_t calls = 0;
    for (idx_t i = 0; i < aggregate.groups.size(); ++i) {
      if (!IsCall(*aggregate.groups[i], kGapfill)) continue;
      bucket_group_ = i;
      ++calls;
    }
    if (calls > 1) Throw(InvalidArgument("{}: only once in a GROUP BY", kGapfill));
    if (aggregate.grouping_sets.size() > 1 || !aggregate.grouping_functions.empty()) {
      Throw(InvalidArgument("{}: not together with ROLLUP, CUBE, GROUPING SETS or GROUPING()",
                            kGapfill));
    }
    auto& call = aggregate.groups[bucket_group_]->Cast<duckdb::BoundFunctionExpression>();
    type_ = call.return_type;
    Exprs& given = call.children;
    const bool zoned = given.size() % 2 == 1, bounded = given.size() > 3;
    const char* names[] = {"width", "time", zoned ? "time zone" : "start",
                           zoned ? "start" : "finish", "finish"};
    for (idx_t i = 0; i < given.size(); ++i) {
      if (i != 1 && !IsSameForAllRows(*given[i])) {
        Throw(InvalidArgument("{}: {} must be the same for all rows: a constant or parameter",
                              kGapfill, names[i]));
      }
    }
    width_ = given[0]->Copy();
    zone_ = zoned ? given[2]->Copy() : Constant(Value(LogicalType::VARCHAR));
    bounds_.push_back(bounded ? given[given.size() - 2]->Copy() : Constant(Value(type_)));
    bounds_.push_back(bounded ? given[given.size() - 1]->Copy() : Constant(Value(type_)));

    WhereRange range;
    FindWhereRange(*plan_, *aggregate.children[0], *given[1], &range);
    can_stand_in_ = bounded || !(range.at_least.empty() && range.above.empty()) ||
                    !(range.at_most.empty() && range.below.empty());
    bounds_.push_back(Extreme("greatest", std::move(range.at_least)));
    bounds_.push_back(Extreme("greatest", std::move(range.above)));
    bounds_.push_back(Extreme("least", std::move(range.at_most)));
    bounds_.push_back(Extreme("least", std::move(range.below)));

    Exprs arguments;
    arguments.push_back(std::move(given[0]));
    arguments.push_back(std::move(given[1]));
    if (zoned) arguments.push_back(std::move(given[2]));
    auto bucket = Call("time_bucket", std::move(arguments));
    bucket->SetAlias(kGapfill);
    aggregate.groups[bucket_group_] = std::move(bucket);
  }

  Expr Extreme(const char* function, Exprs values) {
    if (values.empty()) return Constant(Value(type_));
    for (auto& value : values) {
      value = duckdb::BoundCastExpression::AddCastToType(context_, std::move(value), type_);
    }
    return values.size() == 1 ? std::move(values[0]) : Call(function, std::move(values));
  }

  Expr Call(const char* function, Exprs arguments) {
    duckdb::ErrorData error;
    duckdb::FunctionBinder functions(context_);
    auto call = functions.BindScalarFunction(DEFAULT_SCHEMA, function, std::move(arguments), error);
    if (!call) error.Throw();
    return call;
  }

  template <typename... E>
  Expr Call(const char* function, Expr first, E... rest) {
    Exprs arguments;
    arguments.push_back(std::move(first));
    (arguments.push_back(std::move(rest)), ...);
    return Call(function, std::move(arguments));
  }

  // Gaps are filled after HAVING, which may have joins with sub-queries below it, and before
  // windows, QUALIFY and the SELECT list.
  void FindInput() {
    input_slot_ = path_.back();
    idx_t at = path_.size() - 1;
    for (idx_t i = path_.size() - 1; i-- > 0;) {
      const auto type = (*path_[i])->type;
      if (type == LogicalOperatorType::LOGICAL_FILTER) at = i;
      if (type == LogicalOperatorType::LOGICAL_WINDOW ||
          type == LogicalOperatorType::LOGICAL_UNNEST ||
          type == LogicalOperatorType::LOGICAL_PROJECTION) {
        break;
      }
    }
    input_slot_ = path_[at];
    for (idx_t i = at; i < path_.size(); ++i) {
      ForEachExpression(**path_[i], [](Expr& expression) {
        if (const auto* fill = Find(*expression, IsFill)) {
          Throw(FillPlaceError(fill->Cast<duckdb::BoundFunctionExpression>().function.name));
        }
      });
    }
    // The operators of the same SELECT above it.
    for (idx_t i = at; i-- > 0;) {
      above_.push_back(path_[i]->get());
      if ((*path_[i])->type == LogicalOperatorType::LOGICAL_PROJECTION) break;
    }
  }

  // The different calls of locf and interpolate in the SELECT.
  Exprs TakeFills() {
    Exprs fills;
    const auto take = [&](Expr& expression) {
      if (!IsFill(*expression)) return false;
      auto& call = expression->Cast<duckdb::BoundFunctionExpression>();
      if (Find(*call.children[0], IsFill)) Throw(FillPlaceError(call.function.name));
      for (const auto& known : fills) {
        if (known->Equals(*expression)) return true;
      }
      fills.push_back(expression->Copy());
      return true;
    };
    for (auto* op : above_) {
      ForEachExpression(*op, [&](Expr& expression) { ReplaceIn(expression, take); });
    }
    return fills;
  }

  // The input's columns, the bucket if it is finite, and whether the row stands in for no rows.
  Plan AddMarkers(Plan op, const Columns& input, ColumnBinding bucket,
                  const duckdb::LogicalAggregate& aggregate) {
    Exprs columns;
    for (const Column& column : input) {
      if (column.binding == bucket) {
        bucket_column_ = columns.size();
      } else if (column.binding.table_index == aggregate.group_index) {
        keys_.push_back(columns.size());
      }
      columns.push_back(column.Ref());
    }
    Expr time = columns[bucket_column_]->Copy();
    columns.push_back(Case(Call("isfinite", time->Copy()), time->Copy(), Constant(Value(type_))));
    columns.push_back(Constant(Value::BOOLEAN(false)));
    const idx_t count = columns.size();
    Plan rows = Project(std::move(op), std::move(columns));
    // With keys there is nothing to be filled for a key that has no row.
    if (keys_.empty() && can_stand_in_) {
      Exprs nulls;
      for (const Column& column : input) nulls.push_back(Constant(Value(column.type)));
      nulls.push_back(Constant(Value(type_)));
      nulls.push_back(Constant(Value::BOOLEAN(true)));
      Plan row = Project(make_uniq<duckdb::LogicalDummyScan>(binder_.GenerateTableIndex()),
                         std::move(nulls));
      rows = make_uniq<duckdb::LogicalSetOperation>(binder_.GenerateTableIndex(), count,
                                                    std::move(rows), std::move(row),
                                                    LogicalOperatorType::LOGICAL_UNION, true);
    }
    base_ = ColumnsOf(*rows);
    return rows;
  }

  Plan Project(Plan op, Exprs columns) {
    auto projection =
        make_uniq<duckdb::LogicalProjection>(binder_.GenerateTableIndex(), std::move(columns));
    projection->children.push_back(std::move(op));
    return projection;
  }

  const Column& Finite() const { return base_[base_.size() - 2]; }
  const Column& StandsIn() const { return base_[base_.size() - 1]; }

  duckdb::unique_ptr<duckdb::BoundWindowExpression> Window(ExpressionType type, Expr value) {
    const LogicalType result = value->return_type;
    auto window = make_uniq<duckdb::BoundWindowExpression>(type, result, nullptr, nullptr);
    window->children.push_back(std::move(value));
    return window;
  }

  Plan AddNeighbours(Plan op) {
    auto windows = make_uniq<duckdb::LogicalWindow>(binder_.GenerateTableIndex());
    for (const auto type : {ExpressionType::WINDOW_LAG, ExpressionType::WINDOW_LEAD}) {
      auto window = Window(type, Finite().Ref());
      window->start = duckdb::WindowBoundary::UNBOUNDED_PRECEDING;
      window->end = duckdb::WindowBoundary::CURRENT_ROW_ROWS;
      for (const idx_t key : keys_) window->partitions.push_back(base_[key].Ref());
      window->orders.emplace_back(duckdb::OrderType::ASCENDING, duckdb::OrderByNullType::NULLS_LAST,
                                  Finite().Ref());
      // Right behind the finite buckets, so that its lag says whether there are any.
      window->orders.emplace_back(duckdb::OrderType::DESCENDING,
                                  duckdb::OrderByNullType::NULLS_LAST, StandsIn().Ref());
      windows->expressions.push_back(std::move(window));
    }
    const idx_t table = windows->window_index;
    previous_ = {type_, ColumnBinding(table, 0)};
    next_ = {type_, ColumnBinding(table, 1)};
    windows->children.push_back(std::move(op));
    return windows;
  }

  Exprs GapArguments() const {
    Exprs arguments;
    arguments.push_back(base_[bucket_column_].Ref());
    arguments.push_back(Finite().Ref());
    arguments.push_back(previous_.Ref());
    arguments.push_back(next_.Ref());
    arguments.push_back(StandsIn().Ref());
    arguments.push_back(width_->Copy());
    arguments.push_back(zone_->Copy());
    for (const auto& bound : bounds_) arguments.push_back(bound->Copy());
    return arguments;
  }

  Plan Unnest(Plan op, Expr list, Column* column) {
    auto unnest = make_uniq<duckdb::LogicalUnnest>(binder_.GenerateTableIndex());
    auto expression = make_uniq<duckdb::BoundUnnestExpression>(type_);
    expression->child = std::move(list);
    unnest->expressions.push_back(std::move(expression));
    *column = {type_, ColumnBinding(unnest->unnest_index, 0)};
    unnest->children.push_back(std::move(op));
    return unnest;
  }

  Plan AddBuckets(Plan op) {
    Column band;
    op = Unnest(std::move(op), Call(kGapBands, GapArguments()), &band);
    Exprs arguments = GapArguments();
    arguments.insert(arguments.begin(), band.Ref());
    return Unnest(std::move(op), Call(kGapBuckets, std::move(arguments)), &filled_);
  }

  // The input's columns again, in their order.
  Plan AddResult(Plan op) {
    Exprs columns;
    for (idx_t i = 0; i + 2 < base_.size(); ++i) {
      bool key = false;
      for (const idx_t k : keys_) key |= k == i;
      if (i == bucket_column_) {
        columns.push_back(filled_.Ref());
      } else if (key) {
        columns.push_back(base_[i].Ref());
      } else {
        auto own = make_uniq<duckdb::BoundComparisonExpression>(
            ExpressionType::COMPARE_NOT_DISTINCT_FROM, filled_.Ref(), base_[bucket_column_].Ref());
        columns.push_back(Case(std::move(own), base_[i].Ref(), Constant(Value(base_[i].type))));
      }
    }
    return Project(std::move(op), std::move(columns));
  }

  // The last known value up to a row, or the next one from it on.
  Expr Known(bool next, Expr value, const Columns& output) {
    auto window =
        Window(next ? ExpressionType::WINDOW_FIRST_VALUE : ExpressionType::WINDOW_LAST_VALUE,
               std::move(value));
    window->ignore_nulls = true;
    window->start = next ? duckdb::WindowBoundary::CURRENT_ROW_ROWS
                         : duckdb::WindowBoundary::UNBOUNDED_PRECEDING;
    window->end = next ? duckdb::WindowBoundary::UNBOUNDED_FOLLOWING
                       : duckdb::WindowBoundary::CURRENT_ROW_ROWS;
    for (const idx_t key : keys_) window->partitions.push_back(output[key].Ref());
    // Buckets that are NULL or infinite neither get nor give a value.
    window->partitions.push_back(Call("isfinite", output[bucket_column_].Ref()));
    window->orders.emplace_back(duckdb::OrderType::ASCENDING, duckdb::OrderByNullType::NULLS_LAST,
                                output[bucket_column_].Ref());
    return window;
  }

  Plan AddFills(Plan op, const Columns& output, const Exprs& fills, idx_t table) {
    if (fills.empty()) return op;
    auto windows = make_uniq<duckdb::LogicalWindow>(table);
    for (const auto& fill : fills) {
      const Expr& value = fill->Cast<duckdb::BoundFunctionExpression>().children[0];
      windows->expressions.push_back(Known(false, value->Copy(), output));
      if (!IsCall(*fill, kInterpolate)) continue;
      const auto time = [&] {
        return Case(IsNotNull(value->Copy()), output[bucket_column_].Ref(), Constant(Value(type_)));
      };
      windows->expressions.push_back(Known(false, time(), output));
      windows->expressions.push_back(Known(true, value->Copy(), output));
      windows->expressions.push_back(Known(true, time(), output));
    }
    windows->children.push_back(std::move(op));
    return windows;
  }

  // What stands for each call of locf and interpolate, whose arguments read the result by now.
  void PutFills(const Columns& output, const Exprs& fills, idx_t table) {
    Exprs values;
    idx_t window = 0;
    const auto next = [&](const LogicalType& type) {
      return Column{type, ColumnBinding(table, window++)}.Ref();
    };
    for (const auto& fill : fills) {
      const Expr& value = fill->Cast<duckdb::BoundFunctionExpression>().children[0];
      Expr time = output[bucket_column_].Ref();
      if (IsCall(*fill, kLocf)) {
        auto known = next(value->return_type);
        values.push_back(Case(Call("isfinite", std::move(time)), std::move(known), value->Copy()));
        continue;
      }
      Exprs arguments;
      arguments.push_back(value->Copy());
      arguments.push_back(std::move(time));
      arguments.push_back(next(LogicalType::DOUBLE));
      arguments.push_back(next(type_));
      arguments.push_back(next(LogicalType::DOUBLE));
      arguments.push_back(next(type_));
      values.push_back(Call(kInterpolateAt, std::move(arguments)));
    }
    const auto put = [&](Expr& expression) {
      if (!IsFill(*expression)) return false;
      for (idx_t i = 0; i < fills.size(); ++i) {
        if (!fills[i]->Equals(*expression)) continue;
        const auto alias = expression->GetAlias();
        expression = values[i]->Copy();
        expression->SetAlias(alias);
        break;
      }
      return true;
    };
    for (auto* op : above_) {
      ForEachExpression(*op, [&](Expr& expression) { ReplaceIn(expression, put); });
    }
  }

  duckdb::ClientContext& context_;
  duckdb::Binder& binder_;
  Plan& plan_;
  duckdb::vector<Plan*> path_;
  Plan* input_slot_ = nullptr;
  duckdb::vector<LogicalOperator*> above_;

  // The call: bounds_ are start, finish, and from WHERE >=, >, <=, <.
  LogicalType type_;
  idx_t bucket_group_ = 0;
  Expr width_, zone_;
  Exprs bounds_;
  bool can_stand_in_ = false;

  Columns base_;  // after AddMarkers
  idx_t bucket_column_ = 0;
  duckdb::vector<idx_t> keys_;
  Column previous_, next_, filled_;
};

bool HasGapfill(const LogicalOperator& op) {
  if (op.type != LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY) return false;
  for (const auto& group : op.Cast<duckdb::LogicalAggregate>().groups) {
    if (IsCall(*group, kGapfill)) return true;
  }
  return false;
}

// The innermost aggregate first: an outer one may read its buckets.
bool FindGapfill(Plan& op, duckdb::vector<Plan*>* path) {
  path->push_back(&op);
  for (auto& child : op->children) {
    if (FindGapfill(child, path)) return true;
  }
  if (HasGapfill(*op)) return true;
  path->pop_back();
  return false;
}

// What could not be rewritten stands in the wrong place.
void RefuseRest(LogicalOperator& op) {
  ForEachExpression(op, [](Expr& expression) {
    if (Find(*expression, [](const Expression& e) { return IsCall(e, kGapfill); })) {
      Throw(GapfillPlaceError());
    }
    if (const auto* fill = Find(*expression, IsFill)) {
      Throw(FillPlaceError(fill->Cast<duckdb::BoundFunctionExpression>().function.name));
    }
  });
  for (auto& child : op.children) RefuseRest(*child);
}

void PreOptimize(duckdb::OptimizerExtensionInput& input, Plan& plan) {
  while (true) {
    duckdb::vector<Plan*> path;
    if (!FindGapfill(plan, &path)) break;
    Gapfill(input, plan, std::move(path)).Rewrite();
  }
  RefuseRest(*plan);
}

}  // namespace

void RegisterGapfillPlan(duckdb::DatabaseInstance& database) {
  duckdb::OptimizerExtension extension;
  extension.pre_optimize_function = PreOptimize;
  duckdb::OptimizerExtension::Register(duckdb::DBConfig::GetConfig(database), std::move(extension));
}

}  // namespace timelake::sql

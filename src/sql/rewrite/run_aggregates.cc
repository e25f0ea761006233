#include "sql/rewrite/run_aggregates.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <duckdb/common/types/timestamp.hpp>
#include <duckdb/execution/expression_executor.hpp>
#include <duckdb/main/config.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/optimizer/optimizer_extension.hpp>
#include <duckdb/planner/expression/bound_aggregate_expression.hpp>
#include <duckdb/planner/expression/bound_columnref_expression.hpp>
#include <duckdb/planner/expression/bound_function_expression.hpp>
#include <duckdb/planner/operator/logical_aggregate.hpp>
#include <duckdb/planner/operator/logical_get.hpp>
#include <duckdb/planner/operator/logical_projection.hpp>
#include <duckdb/planner/operator/logical_top_n.hpp>

#include "sql/error.h"
#include "sql/functions/bucket_arguments.h"
#include "sql/functions/date_trunc.h"
#include "sql/functions/merge_aggregates.h"
#include "sql/functions/plan_tools.h"
#include "sql/scan_function.h"
#include "sql/types.h"

namespace timelake::sql {

namespace {

using duckdb::BoundAggregateExpression;
using duckdb::LogicalTypeId;
using plan::Expr;
using plan::Expression;
using plan::idx_t;
using plan::LogicalOperator;
using plan::LogicalOperatorType;
using scan::RunOp;

// ORDER BY ... LIMIT of more is not looked into.
constexpr idx_t kMostBuckets = 1000;

// The bucket around `time`. `floor` gives its start, false if that is out of range; `next` the
// start of the one behind it, false if there is none. Throws as the function does.
template <typename Floor, typename Next>
scan::TimeBucket BucketOf(const char* function, int64_t time, Floor&& floor, Next&& next) {
  if (!duckdb::Timestamp::IsFinite(duckdb::timestamp_t(time))) return {time, time, time};
  scan::TimeBucket bucket;
  if (!floor(time, &bucket.start) ||
      !duckdb::Timestamp::IsFinite(duckdb::timestamp_t(bucket.start))) {
    Throw(InvalidArgument("{}: the start of the bucket is out of range", function));
  }
  bucket.first = bucket.start;
  int64_t behind = 0;
  bucket.last = next(bucket.start, &behind) ? behind - 1 : time;
  return bucket;
}

using Buckets = std::function<scan::TimeBucket(int64_t)>;

Buckets BucketsOf(BucketGrid grid) {
  return [grid = std::move(grid)](int64_t time) mutable {
    return BucketOf(
        "time_bucket", time, [&](int64_t t, int64_t* start) { return grid.Floor(t, start); },
        [&](int64_t start, int64_t* behind) { return grid.Next(start, behind); });
  };
}

Buckets BucketsOf(TimeFloor floor) {
  return [floor](int64_t time) mutable {
    return BucketOf(
        "date_trunc", time, [&](int64_t t, int64_t* start) { return floor.Apply(t, start); },
        [&](int64_t, int64_t* behind) {
          *behind = floor.high();
          return true;
        });
  };
}

// An aggregation over a scan, and what it needs of it.
class Candidate {
 public:
  explicit Candidate(duckdb::ClientContext& context) : context_(context) {}

  // Whether the operators below are projections over a scan of a table with series.
  bool Find(LogicalOperator& below) {
    LogicalOperator* op = &below;
    while (op->type == LogicalOperatorType::LOGICAL_PROJECTION) {
      projections_.push_back(&op->Cast<duckdb::LogicalProjection>());
      op = op->children[0].get();
    }
    if (op->type != LogicalOperatorType::LOGICAL_GET) return false;
    get_ = &op->Cast<duckdb::LogicalGet>();
    if (!IsScan(*get_)) return false;
    table_ = TableOf(*get_);
    return table_->contract.is_time_series();
  }

  bool AddGroup(const Expression& group) {
    const Expression* what = Resolve(group);
    scan::RunKey key;
    std::string name;
    if (const auto column = ColumnOf(*what)) {
      const iceberg::Field& field = table_->schema->fields[*column];
      const auto& keys = table_->contract.key_ids;
      const bool is_key = std::find(keys.begin(), keys.end(), field.id) != keys.end();
      if (!is_key && field.type.id != iceberg::TypeId::kString && !ChangesRarely(field.id)) {
        return false;
      }
      key.column = Use(*column);
      name = field.name;
    } else if (auto bucket = BucketKey(*what)) {
      key = *std::move(bucket);
      name = what->GetName();
    } else {
      return false;
    }
    aggregates_.runs.keys.push_back(std::move(key));
    key_types_.push_back(group.return_type);
    key_names_.push_back(std::move(name));
    return true;
  }

  bool AddAggregate(const Expression& expression) {
    if (expression.GetExpressionClass() != duckdb::ExpressionClass::BOUND_AGGREGATE) return false;
    const auto& aggregate = expression.Cast<BoundAggregateExpression>();
    if (aggregate.IsDistinct() || aggregate.filter || aggregate.order_bys) return false;
    const auto& name = aggregate.function.name;
    if (name == "count_star" && aggregate.children.empty()) {
      values_.push_back({AddValue(RunOp::kRows, std::nullopt)});
      return true;
    }
    if (aggregate.children.size() != 1) return false;
    const auto column = ColumnOf(*Resolve(*aggregate.children[0]));
    if (!column) return false;
    const auto type = aggregate.children[0]->return_type.id();
    if (name == "count") {
      values_.push_back({AddValue(RunOp::kCount, column)});
    } else if (name == "sum" && type == LogicalTypeId::DOUBLE) {
      values_.push_back({AddValue(RunOp::kSum, column)});
    } else if (name == "sum" && aggregate.return_type.id() == LogicalTypeId::HUGEINT &&
               (type == LogicalTypeId::INTEGER || type == LogicalTypeId::BIGINT)) {
      values_.push_back({AddValue(RunOp::kSumHigh, column), AddValue(RunOp::kSumLow, column)});
    } else if ((name == "avg" || name == "mean") && type == LogicalTypeId::DOUBLE) {
      values_.push_back({AddValue(RunOp::kSum, column), AddValue(RunOp::kCount, column)});
    } else if ((name == "min" || name == "max") && HasExtremes(type)) {
      values_.push_back({AddValue(name == "min" ? RunOp::kMin : RunOp::kMax, column)});
    } else {
      return false;
    }
    return true;
  }

  // Rewrites the aggregation that all of it was found in.
  void Apply(duckdb::LogicalAggregate& aggregate) {
    aggregates_.types = key_types_;
    aggregates_.names = key_names_;
    aggregates_.types.insert(aggregates_.types.end(), value_types_.begin(), value_types_.end());
    aggregates_.names.insert(aggregates_.names.end(), value_names_.begin(), value_names_.end());
    const auto types = aggregates_.types;
    if (!AggregateWhileReading(*get_, std::move(aggregates_))) return;
    const auto column = [&](idx_t index) -> Expr {
      return duckdb::make_uniq<duckdb::BoundColumnRefExpression>(
          types[index], plan::ColumnBinding(get_->table_index, index));
    };
    for (idx_t i = 0; i < aggregate.groups.size(); ++i) aggregate.groups[i] = column(i);
    for (idx_t i = 0; i < aggregate.expressions.size(); ++i) {
      plan::Exprs children;
      for (const idx_t value : values_[i]) children.push_back(column(key_types_.size() + value));
      Replace(aggregate.expressions[i], std::move(children));
    }
    duckdb::unique_ptr<LogicalOperator> get;
    LogicalOperator* above = &aggregate;
    while (above->children[0].get() != get_) above = above->children[0].get();
    get = std::move(above->children[0]);
    aggregate.children[0] = std::move(get);
  }

 private:
  // Whether a column takes so little room in the files that it must be the same for many rows, as
  // what describes a series is.
  bool ChangesRarely(int field_id) {
    if (!table_->snapshot || table_->rows) return false;
    if (!files_) {
      auto plan = scan::PlanFiles(table_->env, *table_->metadata, table_->snapshot, {});
      if (!plan.ok()) return false;  // the scan meets it again
      files_ = *std::move(plan);
    }
    int64_t bytes = 0, rows = 0;
    for (const scan::ScanFile& file : files_->files) {
      const auto size = file.data->column_sizes.find(field_id);
      if (size == file.data->column_sizes.end()) return false;
      bytes += size->second;
      rows += file.data->record_count;
    }
    return bytes * 8 < rows;
  }

  static bool HasExtremes(LogicalTypeId type) {
    switch (type) {
      case LogicalTypeId::INTEGER:
      case LogicalTypeId::BIGINT:
      case LogicalTypeId::FLOAT:
      case LogicalTypeId::DOUBLE:
      case LogicalTypeId::DATE:
      case LogicalTypeId::TIME:
      case LogicalTypeId::TIMESTAMP:
      case LogicalTypeId::TIMESTAMP_TZ: return true;
      default: return false;
    }
  }

  // What a column of a projection is.
  const Expression* Resolve(const Expression& expression) const {
    const Expression* current = &expression;
    for (const auto* projection : projections_) {  // from the top
      if (current->GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) break;
      const auto& binding = current->Cast<duckdb::BoundColumnRefExpression>().binding;
      if (binding.table_index != projection->table_index) continue;
      current = projection->expressions.at(binding.column_index).get();
    }
    return current;
  }

  // The position in the schema of the column that the expression is.
  std::optional<size_t> ColumnOf(const Expression& expression) const {
    if (expression.GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) {
      return std::nullopt;
    }
    const auto& binding = expression.Cast<duckdb::BoundColumnRefExpression>().binding;
    const auto& columns = get_->GetColumnIds();
    if (binding.table_index != get_->table_index || binding.column_index >= columns.size()) {
      return std::nullopt;
    }
    const auto& column = columns[binding.column_index];
    if (column.IsVirtualColumn() || column.HasChildren()) return std::nullopt;
    const idx_t position = column.GetPrimaryIndex();
    if (position >= table_->schema->fields.size()) return std::nullopt;
    if (!table_->schema->fields[position].type.is_primitive()) return std::nullopt;
    return position;
  }

  std::optional<scan::RunKey> BucketKey(const Expression& expression) {
    const bool trunc =
        plan::IsCall(expression, "date_trunc") || plan::IsCall(expression, "datetrunc");
    if (!trunc && !plan::IsCall(expression, "time_bucket")) return std::nullopt;
    const auto& call = expression.Cast<duckdb::BoundFunctionExpression>();
    const auto type = call.return_type.id();
    if (call.children.size() < 2 ||
        (type != LogicalTypeId::TIMESTAMP && type != LogicalTypeId::TIMESTAMP_TZ)) {
      return std::nullopt;
    }
    const auto column = ColumnOf(*Resolve(*call.children[1]));
    if (!column || table_->schema->fields[*column].id != *table_->contract.time_id) {
      return std::nullopt;
    }
    scan::RunKey key;
    key.bucket = trunc ? TruncBuckets(call) : GridBuckets(call);
    if (!key.bucket) return std::nullopt;
    key.column = Use(*column);
    return key;
  }

  // Without a zone: its clock would be shared by threads. Nothing for what is not constant or
  // wrong, which is said when it runs.
  Buckets GridBuckets(const duckdb::BoundFunctionExpression& call) const {
    Buckets buckets;
    const auto make = [&] {
      duckdb::vector<duckdb::LogicalType> types;
      for (const auto& child : call.children) types.push_back(child->return_type);
      GridMaker maker(context_, "time_bucket");
      const auto arguments = ConstantBucketArguments(context_, types, call.children, maker);
      if (arguments && arguments->zone.empty()) buckets = BucketsOf(*maker.Get(*arguments));
      return Status::OK();
    };
    if (!Guard(make).ok()) return nullptr;
    return buckets;
  }

  Buckets TruncBuckets(const duckdb::BoundFunctionExpression& call) const {
    const Expression& part = *call.children[0];
    duckdb::Value value;
    if (part.HasParameter() || !part.IsFoldable() ||
        !duckdb::ExpressionExecutor::TryEvaluateScalar(context_, part, value) || value.IsNull()) {
      return nullptr;
    }
    const bool zoned = call.return_type.id() == LogicalTypeId::TIMESTAMP_TZ;
    const auto floor = DateTruncGrid(context_, value.ToString(), zoned);
    return floor ? BucketsOf(*floor) : nullptr;
  }

  size_t Use(size_t column) {
    auto& columns = aggregates_.columns;
    const auto found = std::find(columns.begin(), columns.end(), column);
    const auto position = static_cast<size_t>(found - columns.begin());
    if (found == columns.end()) columns.push_back(column);
    return position;
  }

  // Each once, for avg and count of one column need the same.
  idx_t AddValue(RunOp op, std::optional<size_t> column) {
    const scan::RunValue value{op, column ? Use(*column) : 0};
    auto& values = aggregates_.runs.values;
    for (idx_t i = 0; i < values.size(); ++i) {
      if (values[i].op == op && values[i].column == value.column) return i;
    }
    values.push_back(value);
    const std::string of = column ? table_->schema->fields[*column].name : "*";
    switch (op) {
      case RunOp::kRows:
      case RunOp::kCount:
        value_types_.push_back(duckdb::LogicalType::BIGINT);
        value_names_.push_back("count(" + of + ")");
        break;
      case RunOp::kSum:
        value_types_.push_back(duckdb::LogicalType::DOUBLE);
        value_names_.push_back("sum(" + of + ")");
        break;
      case RunOp::kSumHigh:
      case RunOp::kSumLow:
      case RunOp::kTotal:
        value_types_.push_back(duckdb::LogicalType::BIGINT);
        value_names_.push_back((op == RunOp::kSumHigh ? "sum(" : "low sum(") + of + ")");
        break;
      case RunOp::kMin:
      case RunOp::kMax:
        value_types_.push_back(ToLogicalType(table_->schema->fields[*column].type));
        value_names_.push_back((op == RunOp::kMin ? "min(" : "max(") + of + ")");
        break;
    }
    return values.size() - 1;
  }

  static void Replace(Expr& expression, plan::Exprs children) {
    auto& aggregate = expression->Cast<BoundAggregateExpression>();
    const auto& name = aggregate.function.name;
    const bool halves = name == "sum" && children.size() == 2;
    if (!halves && (name == "sum" || name == "min" || name == "max")) {
      aggregate.children = std::move(children);
      return;
    }
    const bool counts = name == "count" || name == "count_star";
    auto merged = duckdb::make_uniq<BoundAggregateExpression>(halves   ? MergeSums()
                                                              : counts ? MergeCounts()
                                                                       : MergeAverages(),
                                                              std::move(children), nullptr, nullptr,
                                                              duckdb::AggregateType::NON_DISTINCT);
    merged->SetAlias(expression->GetAlias());
    expression = std::move(merged);
  }

  duckdb::ClientContext& context_;
  std::vector<duckdb::LogicalProjection*> projections_;
  duckdb::LogicalGet* get_ = nullptr;
  std::shared_ptr<const TableVersion> table_;
  std::optional<scan::Plan> files_;  // all of the table
  ScanAggregates aggregates_;
  std::vector<duckdb::LogicalType> key_types_, value_types_;
  std::vector<std::string> key_names_, value_names_;
  std::vector<std::vector<idx_t>> values_;  // of each aggregate
};

// ORDER BY bucket LIMIT n: only the rows of n buckets matter. They are fewer than n when the groups
// are more than the buckets, which does no harm.
void VisitTopN(const duckdb::LogicalTopN& top) {
  if (top.orders.empty() || top.limit > kMostBuckets || top.offset > kMostBuckets) return;
  const Expression* order = top.orders[0].expression.get();
  LogicalOperator* op = top.children[0].get();
  while (op->type == LogicalOperatorType::LOGICAL_PROJECTION) {
    if (order->GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) return;
    const auto& binding = order->Cast<duckdb::BoundColumnRefExpression>().binding;
    order = op->expressions.at(binding.column_index).get();
    op = op->children[0].get();
  }
  if (op->type != LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY) return;
  if (order->GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) return;
  const auto& aggregate = op->Cast<duckdb::LogicalAggregate>();
  const auto& binding = order->Cast<duckdb::BoundColumnRefExpression>().binding;
  if (binding.table_index != aggregate.group_index) return;
  LogicalOperator& below = *aggregate.children[0];
  if (below.type != LogicalOperatorType::LOGICAL_GET) return;
  auto& get = below.Cast<duckdb::LogicalGet>();
  const auto* aggregates = IsScan(get) ? AggregatesOf(get) : nullptr;
  if (!aggregates || !aggregates->runs.keys.at(binding.column_index).bucket) return;
  // NULL would be in another place.
  const size_t time = aggregates->columns[aggregates->runs.keys[binding.column_index].column];
  if (!TableOf(get)->schema->fields[time].required) return;
  LimitBuckets(get, {.key = binding.column_index,
                     .count = top.limit + top.offset,
                     .last = top.orders[0].type == duckdb::OrderType::DESCENDING});
}

void Visit(duckdb::ClientContext& context, LogicalOperator& op) {
  for (auto& child : op.children) Visit(context, *child);
  if (op.type == LogicalOperatorType::LOGICAL_TOP_N) VisitTopN(op.Cast<duckdb::LogicalTopN>());
  if (op.type != LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY) return;
  auto& aggregate = op.Cast<duckdb::LogicalAggregate>();
  if (aggregate.grouping_sets.size() > 1 || !aggregate.grouping_functions.empty()) return;
  if (aggregate.expressions.empty()) return;
  Candidate candidate(context);
  if (!candidate.Find(*aggregate.children[0])) return;
  for (const auto& group : aggregate.groups) {
    if (!candidate.AddGroup(*group)) return;
  }
  for (const auto& expression : aggregate.expressions) {
    if (!candidate.AddAggregate(*expression)) return;
  }
  candidate.Apply(aggregate);
}

void Optimize(duckdb::OptimizerExtensionInput& input, duckdb::unique_ptr<LogicalOperator>& plan) {
  Visit(input.context, *plan);
}

}  // namespace

void RegisterRunAggregates(duckdb::DatabaseInstance& database) {
  duckdb::OptimizerExtension extension;
  extension.optimize_function = Optimize;
  duckdb::OptimizerExtension::Register(duckdb::DBConfig::GetConfig(database), std::move(extension));
}

}  // namespace timelake::sql

#include "sql/rewrite/whole_groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <duckdb/main/config.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/optimizer/optimizer.hpp>
#include <duckdb/optimizer/optimizer_extension.hpp>
#include <duckdb/planner/binder.hpp>
#include <duckdb/planner/expression/bound_aggregate_expression.hpp>
#include <duckdb/planner/expression/bound_columnref_expression.hpp>
#include <duckdb/planner/expression/bound_function_expression.hpp>
#include <duckdb/planner/operator/logical_aggregate.hpp>
#include <duckdb/planner/operator/logical_get.hpp>
#include <duckdb/planner/operator/logical_projection.hpp>
#include <duckdb/planner/operator/logical_set_operation.hpp>

#include "scan/whole_groups.h"
#include "sql/error.h"
#include "sql/functions/merge_aggregates.h"
#include "sql/functions/plan_tools.h"
#include "sql/scan_function.h"
#include "sql/scan_statistics.h"
#include "table/versions.h"

namespace timelake::sql {

namespace {

using plan::ColumnBinding;
using plan::Expr;
using plan::Expression;
using plan::Exprs;
using plan::idx_t;
using plan::LogicalOperator;
using plan::LogicalOperatorType;
using plan::Plan;

// Fewer rows, or fewer than are left, are not worth a second scan.
constexpr int64_t kLeastRows = 1 << 14;

// The bucket that groups are of besides the series, all of it; null if they are of anything else.
const scan::RunKey* BucketOfSeries(const ScanAggregates& aggregates, const TableVersion& table) {
  const scan::RunKey* bucket = nullptr;
  std::set<int> series;
  for (const scan::RunKey& key : aggregates.runs.keys) {
    const iceberg::Field& field = table.schema->fields[aggregates.columns[key.column]];
    if (key.bucket) {
      if (bucket || field.id != table.contract.time_id) return nullptr;
      bucket = &key;
      continue;
    }
    const auto& keys = table.contract.key_ids;
    if (std::find(keys.begin(), keys.end(), field.id) == keys.end()) return nullptr;
    // 0.0 has two spellings, NaN many.
    const auto type = field.type.id;
    if (type == iceberg::TypeId::kFloat || type == iceberg::TypeId::kDouble) return nullptr;
    series.insert(field.id);
  }
  return series.size() == table.contract.key_ids.size() ? bucket : nullptr;
}

// As the scan computes it, without its errors.
scan::BucketStart StartOf(const scan::RunKey& key) {
  return [bucket = key.bucket](int64_t time) -> std::optional<int64_t> {
    std::optional<int64_t> start;
    const auto status = Guard([&] {
      start = bucket(time).start;
      return Status::OK();
    });
    return status.ok() ? start : std::nullopt;
  };
}

// How the files of a scan are parted, neither set with anything if all have whole groups; nullopt
// if it is not worth while.
struct Parts {
  std::set<std::string> whole, rest;
};
std::optional<Parts> PartsOf(const duckdb::LogicalGet& get) {
  const auto table = TableOf(get);
  const ScanAggregates& aggregates = *AggregatesOf(get);
  if (!table->files || table->answered || !table->contract.is_time_series()) return std::nullopt;
  const scan::RunKey* bucket = BucketOfSeries(aggregates, *table);
  // What another engine says of the order of its files is not relied on.
  if (!bucket || table::IsShared(*table->metadata)) return std::nullopt;
  const scan::FileList* files = PlannedFilesOf(get);
  if (!files) return std::nullopt;  // the scan meets the error again
  const auto whole =
      scan::HaveWholeGroups(*table->metadata, table->contract, *files, StartOf(*bucket));
  int64_t rows = 0, rest = 0;
  for (size_t i = 0; i < files->size(); ++i) (whole[i] ? rows : rest) += (*files)[i]->record_count;
  const auto left = std::count(whole.begin(), whole.end(), false);
  if (left == static_cast<int64_t>(whole.size())) return std::nullopt;
  if (left > 0 && (rows < kLeastRows || rows < rest)) return std::nullopt;
  Parts parts;
  for (size_t i = 0; left > 0 && i < files->size(); ++i) {
    (whole[i] ? parts.whole : parts.rest).insert((*files)[i]->file_path);
  }
  return parts;
}

class Rewriter {
 public:
  explicit Rewriter(duckdb::Binder& binder) : binder_(binder) {}

  void Visit(Plan& op) {
    for (auto& child : op->children) Visit(child);
    if (op->type == LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY) VisitAggregate(op);
  }

  // Lets the operators above refer to what stands in for the aggregations.
  void Finish(LogicalOperator& root) const {
    if (moved_.empty()) return;
    plan::ReplaceInPlan(root, [&](Expr& expression) {
      if (expression->GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) {
        return false;
      }
      auto& binding = expression->Cast<duckdb::BoundColumnRefExpression>().binding;
      const auto moved = moved_.find(binding.table_index);
      if (moved != moved_.end()) {
        binding = {moved->second.table_index, moved->second.column_index + binding.column_index};
      }
      return false;
    });
  }

 private:
  void VisitAggregate(Plan& op) {
    auto& aggregate = op->Cast<duckdb::LogicalAggregate>();
    if (aggregate.children[0]->type != LogicalOperatorType::LOGICAL_GET) return;
    auto& get = aggregate.children[0]->Cast<duckdb::LogicalGet>();
    const ScanAggregates* aggregates = IsScan(get) ? AggregatesOf(get) : nullptr;
    if (!aggregates || aggregates->whole || BucketsLimited(get)) return;
    auto columns = ColumnsOf(aggregate, get);
    if (!columns) return;
    const auto parts = PartsOf(get);
    if (!parts) return;
    const idx_t groups = aggregate.groups.size(), width = columns->size();
    const idx_t above_groups = aggregate.group_index, above_values = aggregate.aggregate_index;
    const auto table = TableOf(get);
    duckdb::unique_ptr<duckdb::LogicalGet> other;
    if (!parts->rest.empty()) {
      other = CopyOf(get);
      SetTable(*other, WithoutFiles(*table, parts->whole, ""));
      SetTable(get, WithoutFiles(*table, parts->rest, ""));
    }
    Plan scan = std::move(aggregate.children[0]);
    Plan rest = other ? Over(std::move(other), std::move(op)) : nullptr;
    GiveWholeGroups(get);
    const idx_t index = binder_.GenerateTableIndex();
    auto projection = duckdb::make_uniq<duckdb::LogicalProjection>(index, *std::move(columns));
    if (scan->has_estimated_cardinality) {
      projection->SetEstimatedCardinality(scan->estimated_cardinality);
    }
    projection->children.push_back(std::move(scan));
    op = std::move(projection);
    if (rest) {
      const idx_t both = binder_.GenerateTableIndex();
      op = duckdb::make_uniq<duckdb::LogicalSetOperation>(
          both, width, std::move(op), std::move(rest), LogicalOperatorType::LOGICAL_UNION, true);
      moved_[above_groups] = {both, 0};
      moved_[above_values] = {both, groups};
    } else {
      moved_[above_groups] = {index, 0};
      moved_[above_values] = {index, groups};
    }
    op->ResolveOperatorTypes();
  }

  duckdb::unique_ptr<duckdb::LogicalGet> CopyOf(const duckdb::LogicalGet& get) {
    auto copy = duckdb::make_uniq<duckdb::LogicalGet>(binder_.GenerateTableIndex(), get.function,
                                                      get.bind_data->Copy(), get.returned_types,
                                                      get.names, get.virtual_columns);
    for (idx_t i = 0; i < get.returned_types.size(); ++i) copy->AddColumnId(i);
    if (get.has_estimated_cardinality) copy->SetEstimatedCardinality(get.estimated_cardinality);
    return copy;
  }

  // The aggregation, whose scan has been taken away, over another one.
  Plan Over(duckdb::unique_ptr<duckdb::LogicalGet> get, Plan op) {
    const auto rebind = [index = get->table_index](Expr& expression) {
      if (expression->GetExpressionClass() == duckdb::ExpressionClass::BOUND_COLUMN_REF) {
        expression->Cast<duckdb::BoundColumnRefExpression>().binding.table_index = index;
      }
      return false;
    };
    plan::ForEachExpression(*op, [&](Expr& expression) { plan::ReplaceIn(expression, rebind); });
    auto& aggregate = op->Cast<duckdb::LogicalAggregate>();
    aggregate.children[0] = std::move(get);
    aggregate.group_index = binder_.GenerateTableIndex();
    aggregate.aggregate_index = binder_.GenerateTableIndex();
    return op;
  }

  // The result's columns over the scan that gives whole groups; nullopt if there is one that it
  // does not give.
  static std::optional<Exprs> ColumnsOf(duckdb::LogicalAggregate& aggregate,
                                        const duckdb::LogicalGet& get) {
    Exprs columns;
    const ScanAggregates& aggregates = *AggregatesOf(get);
    for (const auto& group : aggregate.groups) columns.push_back(group->Copy());
    for (const auto& expression : aggregate.expressions) {
      auto& one = expression->Cast<duckdb::BoundAggregateExpression>();
      Exprs children;
      for (const auto& child : one.children) children.push_back(child->Copy());
      const std::string& name = one.function.name;
      const auto call = [&](const duckdb::ScalarFunction& function) -> Expr {
        return duckdb::make_uniq<duckdb::BoundFunctionExpression>(one.return_type, function,
                                                                  std::move(children), nullptr);
      };
      if (name == MergeSums().name) {
        columns.push_back(call(MergedSum()));
      } else if (name == MergeAverages().name) {
        columns.push_back(call(MergedAverage()));
      } else if (children.size() == 1 && children[0]->return_type == one.return_type) {
        columns.push_back(std::move(children[0]));
      } else {
        return std::nullopt;
      }
    }
    if (aggregates.runs.keys.size() != aggregate.groups.size()) return std::nullopt;
    return columns;
  }

  duckdb::Binder& binder_;
  std::map<idx_t, ColumnBinding> moved_;  // by table index: its columns are there now, from one on
};

void Optimize(duckdb::OptimizerExtensionInput& input, Plan& plan) {
  Rewriter rewriter(input.optimizer.binder);
  rewriter.Visit(plan);
  rewriter.Finish(*plan);
}

}  // namespace

void RegisterWholeGroups(duckdb::DatabaseInstance& database) {
  duckdb::OptimizerExtension extension;
  extension.optimize_function = Optimize;
  duckdb::OptimizerExtension::Register(duckdb::DBConfig::GetConfig(database), std::move(extension));
}

}  // namespace timelake::sql

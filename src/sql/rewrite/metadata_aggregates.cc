#include "sql/rewrite/metadata_aggregates.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <duckdb/main/config.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/optimizer/optimizer.hpp>
#include <duckdb/optimizer/optimizer_extension.hpp>
#include <duckdb/planner/binder.hpp>
#include <duckdb/planner/expression/bound_aggregate_expression.hpp>
#include <duckdb/planner/expression/bound_columnref_expression.hpp>
#include <duckdb/planner/expression/bound_constant_expression.hpp>
#include <duckdb/planner/operator/logical_aggregate.hpp>
#include <duckdb/planner/operator/logical_get.hpp>
#include <duckdb/planner/operator/logical_projection.hpp>

#include "scan/metadata_answer.h"
#include "sql/scan_function.h"
#include "sql/types.h"

namespace timelake::sql {

namespace {

using duckdb::Expression;
using duckdb::idx_t;
using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;
using OperatorPtr = duckdb::unique_ptr<LogicalOperator>;
using ExpressionPtr = duckdb::unique_ptr<Expression>;

// One aggregate of the query, and where in the question it is.
struct Asked {
  enum Kind { kCountRows, kCountValues, kExtreme } kind = kCountRows;
  size_t place = 0;
};

// Projections only down to the scan of one of our tables; null if there is anything else.
duckdb::LogicalGet* ScanBelow(LogicalOperator& aggregate) {
  LogicalOperator* op = aggregate.children[0].get();
  while (op->type == LogicalOperatorType::LOGICAL_PROJECTION) op = op->children[0].get();
  if (op->type != LogicalOperatorType::LOGICAL_GET) return nullptr;
  auto& get = op->Cast<duckdb::LogicalGet>();
  return IsScan(get) && !AggregatesOf(get) ? &get : nullptr;
}

// The column of the table that the expression is, unchanged.
const iceberg::Field* ColumnOf(const Expression& expression, LogicalOperator& below,
                               const iceberg::Schema& schema) {
  const Expression* current = &expression;
  for (LogicalOperator* op = &below;; op = op->children[0].get()) {
    if (current->GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) return nullptr;
    const auto binding = current->Cast<duckdb::BoundColumnRefExpression>().binding;
    if (op->type == LogicalOperatorType::LOGICAL_PROJECTION) {
      const auto& projection = op->Cast<duckdb::LogicalProjection>();
      if (projection.table_index != binding.table_index) return nullptr;
      current = projection.expressions.at(binding.column_index).get();
      continue;
    }
    const auto& get = op->Cast<duckdb::LogicalGet>();
    if (get.table_index != binding.table_index) return nullptr;
    const auto& columns = get.GetColumnIds();
    if (binding.column_index >= columns.size()) return nullptr;
    const auto& column = columns[binding.column_index];
    if (column.IsVirtualColumn() || column.HasChildren()) return nullptr;
    const idx_t position = column.GetPrimaryIndex();
    return position < schema.fields.size() ? &schema.fields[position] : nullptr;
  }
}

class Rewriter {
 public:
  explicit Rewriter(duckdb::Optimizer& optimizer) : optimizer_(optimizer) {}

  void Visit(OperatorPtr& op) {
    if (op->type == LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY) VisitAggregate(op);
    for (auto& child : op->children) Visit(child);
  }

 private:
  void VisitAggregate(OperatorPtr& op) {
    auto& aggregate = op->Cast<duckdb::LogicalAggregate>();
    if (!aggregate.groups.empty() || aggregate.grouping_sets.size() > 1 ||
        !aggregate.grouping_functions.empty() || aggregate.expressions.empty()) {
      return;
    }
    duckdb::LogicalGet* get = ScanBelow(aggregate);
    if (!get) return;
    const auto table = TableOf(*get);
    if (!table->plan || !table->aggregates_from_metadata || table->answered) return;
    for (const auto& [column, filter] : get->table_filters.filters) {
      if (column >= table->schema->fields.size()) return;
    }
    scan::MetadataQuestion question;
    std::vector<Asked> asked;
    if (!Ask(aggregate, *table->schema, &question, &asked)) return;
    for (const scan::ColumnFilter& filter : Describe(FiltersOf(*get))) {
      if (!filter.exact) return;
      question.tests.insert(question.tests.end(), filter.tests.begin(), filter.tests.end());
    }
    SetDedup(*table, &question);
    const auto plan = table->plan(*table, PruningOf(*get), question.marked);
    if (!plan.ok()) return;  // the scan meets it again
    const scan::MetadataAnswer answer =
        scan::AnswerFromMetadata(table->env, *table->metadata, *plan, question);
    if (answer.files.empty() && !plan->files.empty()) return;
    auto constants = Constants(question, asked, answer, *table->schema);
    if (!constants) return;
    const bool all = answer.files.size() == plan->files.size();
    const std::string files =
        fmt::format("{} of {} files", answer.files.size(), plan->files.size());
    if (all) {
      MakeOneRow(*get, AnsweredVersion(*table, files));
      get->SetEstimatedCardinality(1);
      op = Project(aggregate.aggregate_index, *std::move(constants), TakeScan(aggregate));
    } else {
      SetTable(*get, WithoutFiles(*table, answer.files, files));
      Combine(op, asked, question, *std::move(constants));
    }
  }

  // False if metadata cannot tell one of the aggregates.
  static bool Ask(duckdb::LogicalAggregate& aggregate, const iceberg::Schema& schema,
                  scan::MetadataQuestion* question, std::vector<Asked>* asked) {
    for (const auto& expression : aggregate.expressions) {
      if (expression->GetExpressionClass() != duckdb::ExpressionClass::BOUND_AGGREGATE) {
        return false;
      }
      const auto& one = expression->Cast<duckdb::BoundAggregateExpression>();
      if (one.IsDistinct() || one.filter || one.order_bys) return false;
      const std::string& name = one.function.name;
      if (name == "count_star" && one.children.empty()) {
        question->count = true;
        asked->push_back({Asked::kCountRows, 0});
        continue;
      }
      if (one.children.size() != 1) return false;
      const iceberg::Field* field = ColumnOf(*one.children[0], *aggregate.children[0], schema);
      if (!field || !field->type.is_primitive()) return false;
      if (name == "count") {
        asked->push_back({Asked::kCountValues, question->counted.size()});
        question->counted.push_back(field->id);
      } else if ((name == "min" || name == "max") && scan::HasExactExtremes(field->type) &&
                 one.return_type == one.children[0]->return_type) {
        asked->push_back({Asked::kExtreme, question->extremes.size()});
        question->extremes.push_back({field->id, name == "max"});
      } else {
        return false;
      }
    }
    return true;
  }

  static void SetDedup(const TableVersion& table, scan::MetadataQuestion* question) {
    if (!table.dedup) return;
    question->dedup = true;
    question->same_when_replaced.insert(table.contract.key_ids.begin(),
                                        table.contract.key_ids.end());
    question->same_when_replaced.insert(*table.contract.time_id);
    const auto differs = [&](int id) { return !question->same_when_replaced.contains(id); };
    question->marked = question->count || !question->counted.empty() ||
                       std::any_of(question->tests.begin(), question->tests.end(),
                                   [&](const auto& test) { return differs(test.field_id); }) ||
                       std::any_of(question->extremes.begin(), question->extremes.end(),
                                   [&](const auto& extreme) { return differs(extreme.field_id); });
  }

  // The answer in DuckDB's values; nothing if it has no such value.
  static std::optional<std::vector<duckdb::Value>> Constants(const scan::MetadataQuestion& question,
                                                             const std::vector<Asked>& asked,
                                                             const scan::MetadataAnswer& answer,
                                                             const iceberg::Schema& schema) {
    std::vector<duckdb::Value> constants;
    for (const Asked& one : asked) {
      if (one.kind == Asked::kCountRows) {
        constants.push_back(duckdb::Value::BIGINT(answer.rows));
      } else if (one.kind == Asked::kCountValues) {
        constants.push_back(duckdb::Value::BIGINT(answer.counted[one.place]));
      } else {
        const iceberg::Type& type =
            iceberg::FindFieldById(schema, question.extremes[one.place].field_id)->type;
        const auto& extreme = answer.extremes[one.place];
        auto value = extreme ? ToDuckDbValue(*extreme, type) : duckdb::Value(ToLogicalType(type));
        if (!value) return std::nullopt;
        constants.push_back(*std::move(value));
      }
    }
    return constants;
  }

  // The scan below the aggregate, without what is between.
  static OperatorPtr TakeScan(LogicalOperator& aggregate) {
    OperatorPtr op = std::move(aggregate.children[0]);
    while (op->type == LogicalOperatorType::LOGICAL_PROJECTION) {
      OperatorPtr child = std::move(op->children[0]);
      op = std::move(child);
    }
    return op;
  }

  static OperatorPtr Project(idx_t table_index, std::vector<duckdb::Value> constants,
                             OperatorPtr child) {
    duckdb::vector<ExpressionPtr> expressions;
    for (duckdb::Value& constant : constants) {
      expressions.push_back(
          duckdb::make_uniq<duckdb::BoundConstantExpression>(std::move(constant)));
    }
    return Projection(table_index, std::move(expressions), std::move(child));
  }

  static OperatorPtr Projection(idx_t table_index, duckdb::vector<ExpressionPtr> expressions,
                                OperatorPtr child) {
    auto projection =
        duckdb::make_uniq<duckdb::LogicalProjection>(table_index, std::move(expressions));
    projection->children.push_back(std::move(child));
    projection->SetEstimatedCardinality(1);
    projection->ResolveOperatorTypes();
    return projection;
  }

  // Puts a projection above the aggregate that adds the answer to what the scan found. Operators
  // above keep referring to the same table index.
  void Combine(OperatorPtr& op, const std::vector<Asked>& asked,
               const scan::MetadataQuestion& question, std::vector<duckdb::Value> constants) {
    auto& aggregate = op->Cast<duckdb::LogicalAggregate>();
    const idx_t above = aggregate.aggregate_index;
    aggregate.aggregate_index = optimizer_.binder.GenerateTableIndex();
    duckdb::vector<ExpressionPtr> expressions;
    for (idx_t i = 0; i < asked.size(); ++i) {
      ExpressionPtr scanned = duckdb::make_uniq<duckdb::BoundColumnRefExpression>(
          aggregate.expressions[i]->return_type,
          duckdb::ColumnBinding(aggregate.aggregate_index, i));
      const bool extreme = asked[i].kind == Asked::kExtreme;
      if (!constants[i].IsNull()) {
        const char* function = "+";
        if (extreme) function = question.extremes[asked[i].place].greatest ? "greatest" : "least";
        scanned = optimizer_.BindScalarFunction(
            function, std::move(scanned),
            duckdb::make_uniq<duckdb::BoundConstantExpression>(std::move(constants[i])));
      }
      expressions.push_back(std::move(scanned));
    }
    op = Projection(above, std::move(expressions), std::move(op));
  }

  duckdb::Optimizer& optimizer_;
};

void Optimize(duckdb::OptimizerExtensionInput& input, OperatorPtr& plan) {
  Rewriter(input.optimizer).Visit(plan);
}

}  // namespace

void RegisterMetadataAggregates(duckdb::DatabaseInstance& database) {
  duckdb::OptimizerExtension extension;
  // At the end: filters are in the scan by then, and written as ranges where they can be.
  extension.optimize_function = Optimize;
  duckdb::OptimizerExtension::Register(duckdb::DBConfig::GetConfig(database), std::move(extension));
}

}  // namespace timelake::sql

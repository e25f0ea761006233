#include "sql/whole_rows.h"

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <arrow/array/array_base.h>
#include <duckdb/execution/operator/projection/physical_projection.hpp>
#include <duckdb/execution/operator/scan/physical_table_scan.hpp>
#include <duckdb/planner/expression/bound_reference_expression.hpp>

#include "sql/scan_bind.h"

namespace timelake::sql {

namespace {

using duckdb::idx_t;
using duckdb::PhysicalOperatorType;

// Which columns of the operator below are left, by place; nothing if one is not just picked.
std::optional<std::vector<idx_t>> Picked(const duckdb::PhysicalProjection& projection) {
  std::vector<idx_t> picked;
  for (const auto& expression : projection.select_list) {
    if (expression->GetExpressionType() != duckdb::ExpressionType::BOUND_REF) return std::nullopt;
    picked.push_back(expression->Cast<duckdb::BoundReferenceExpression>().index);
  }
  return picked;
}

bool GivesAllRows(const duckdb::PhysicalTableScan& scan, const ScanBindData& bind) {
  if (scan.table_filters && !scan.table_filters->filters.empty()) return false;
  if (scan.dynamic_filters && scan.dynamic_filters->HasFilters()) return false;
  return !scan.extra_info.sample_options && bind.in_lists.empty() && !bind.aggregates;
}

}  // namespace

std::shared_ptr<arrow::RecordBatch> TakeWholeRows(duckdb::PhysicalOperator& plan,
                                                  const std::shared_ptr<arrow::Schema>& schema) {
  std::vector<idx_t> columns(static_cast<size_t>(schema->num_fields()));
  std::iota(columns.begin(), columns.end(), 0);
  duckdb::PhysicalOperator* op = &plan;
  for (; op->type == PhysicalOperatorType::PROJECTION; op = &op->children[0].get()) {
    const auto picked = Picked(op->Cast<duckdb::PhysicalProjection>());
    if (!picked) return nullptr;
    for (idx_t& column : columns) column = picked->at(column);
  }
  if (op->type != PhysicalOperatorType::TABLE_SCAN) return nullptr;
  auto& scan = op->Cast<duckdb::PhysicalTableScan>();
  if (!TableOf(scan.function, scan.bind_data.get())) return nullptr;
  auto& bind = scan.bind_data->Cast<ScanBindData>();
  const std::shared_ptr<arrow::RecordBatch> rows = bind.table->rows;
  if (!rows || !GivesAllRows(scan, bind)) return nullptr;
  arrow::ArrayVector arrays;
  for (size_t i = 0; i < columns.size(); ++i) {
    const idx_t place =
        scan.projection_ids.empty() ? columns[i] : scan.projection_ids.at(columns[i]);
    const idx_t column = scan.column_ids.at(place).GetPrimaryIndex();
    if (column >= static_cast<idx_t>(rows->num_columns())) return nullptr;
    arrays.push_back(rows->column(static_cast<int>(column)));
    if (!arrays.back()->type()->Equals(schema->field(static_cast<int>(i))->type())) return nullptr;
  }
  bind.table = WithRows(*bind.table, rows->Slice(0, 0));
  return arrow::RecordBatch::Make(schema, rows->num_rows(), std::move(arrays));
}

}  // namespace timelake::sql

#include "sql/plain_casts.h"

#include <utility>

#include <duckdb/catalog/catalog.hpp>
#include <duckdb/catalog/catalog_entry/table_catalog_entry.hpp>
#include <duckdb/common/type_visitor.hpp>
#include <duckdb/main/client_config.hpp>
#include <duckdb/main/config.hpp>
#include <duckdb/optimizer/optimizer_extension.hpp>
#include <duckdb/planner/expression/bound_cast_expression.hpp>
#include <duckdb/planner/expression/bound_columnref_expression.hpp>
#include <duckdb/planner/operator/logical_expression_get.hpp>
#include <duckdb/planner/operator/logical_get.hpp>
#include <duckdb/planner/operator/logical_insert.hpp>

#include "sql/error.h"

namespace timelake::sql {

namespace {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;

bool IsReal(const LogicalType& type) {
  const auto id = type.id();
  return id == LogicalTypeId::FLOAT || id == LogicalTypeId::DOUBLE || id == LogicalTypeId::DECIMAL;
}

bool IsTime(const LogicalType& type) {
  switch (type.id()) {
    case LogicalTypeId::TIMESTAMP:
    case LogicalTypeId::TIMESTAMP_TZ:
    case LogicalTypeId::TIMESTAMP_NS:
    case LogicalTypeId::TIMESTAMP_MS:
    case LogicalTypeId::TIMESTAMP_SEC: return true;
    default: return false;
  }
}

bool MayContainReal(const LogicalType& type) {
  return duckdb::TypeVisitor::Contains(type, [](const LogicalType& part) { return IsReal(part); });
}

// Whether DuckDB's cast can give another value without an error. Those that it alone understands
// (a text as an instant in the session's zone) are not meant.
bool CanChange(const LogicalType& from, const LogicalType& to) {
  if (from.id() == LogicalTypeId::UHUGEINT || from.id() == LogicalTypeId::SQLNULL) return false;
  if (from.IsNested() || to.IsNested()) return from.IsNested() && MayContainReal(from);
  if (to.id() == LogicalTypeId::BOOLEAN) return from.IsNumeric();
  if (to.IsNumeric()) {
    if (from.id() == LogicalTypeId::VARCHAR) return true;
    if (!from.IsNumeric()) return false;
    return IsReal(from) || IsReal(to);
  }
  if (to.id() == LogicalTypeId::DATE && from.id() == LogicalTypeId::VARCHAR) return true;
  if (to.id() == LogicalTypeId::DATE || to.id() == LogicalTypeId::TIME) return IsTime(from);
  return from.id() == LogicalTypeId::TIMESTAMP_NS && IsTime(to);
}

// A cast that the binder added: it has the place of what it casts. One that is written in the query
// has a place of its own.
bool IsAdded(const duckdb::Expression& expression) {
  if (expression.GetExpressionClass() != duckdb::ExpressionClass::BOUND_CAST) return false;
  const auto& child = *expression.Cast<duckdb::BoundCastExpression>().child;
  return expression.GetQueryLocation() == child.GetQueryLocation();
}

void TakeOff(duckdb::unique_ptr<duckdb::Expression>* expression) {
  if (!IsAdded(**expression)) return;
  auto& cast = (*expression)->Cast<duckdb::BoundCastExpression>();
  if (!CanChange(cast.child->return_type, cast.return_type)) return;
  auto child = std::move(cast.child);
  child->alias = (*expression)->alias;
  *expression = std::move(child);
}

// A list of VALUES: a column has one type, that of `SELECT * FROM (VALUES ...)`. `above` are the
// expressions that refer to it.
void TakeOffValues(duckdb::ClientContext& context, duckdb::LogicalExpressionGet& values,
                   duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& above) {
  for (size_t column = 0; column < values.expr_types.size(); ++column) {
    bool change = false;
    for (const auto& row : values.expressions) {
      if (!IsAdded(*row[column])) continue;
      const auto& cast = row[column]->Cast<duckdb::BoundCastExpression>();
      change = change || CanChange(cast.child->return_type, cast.return_type);
    }
    if (!change) continue;
    LogicalType common = LogicalType::SQLNULL;
    for (auto& row : values.expressions) {
      auto& value = row[column];
      if (IsAdded(*value)) {
        auto child = std::move(value->Cast<duckdb::BoundCastExpression>().child);
        value = std::move(child);
      }
      LogicalType wider;
      // The append reads texts of numbers.
      if (!LogicalType::TryGetMaxLogicalType(context, common, value->return_type, wider)) {
        wider = LogicalType::VARCHAR;
      }
      common = wider;
    }
    common = LogicalType::NormalizeType(common);
    for (auto& row : values.expressions) {
      row[column] =
          duckdb::BoundCastExpression::AddCastToType(context, std::move(row[column]), common);
    }
    values.expr_types[column] = common;
    for (auto& expression : above) {
      if (expression->GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) continue;
      const auto& binding = expression->Cast<duckdb::BoundColumnRefExpression>().binding;
      if (binding.table_index == values.table_index && binding.column_index == column) {
        expression->return_type = common;
      }
    }
  }
}

// A reader of text files takes over the types of the table; numbers come as the file has them.
void TakeOffReader(duckdb::ClientContext& context, duckdb::LogicalGet& get) {
  if (!get.function.type_pushdown) {
    // COPY t FROM a file with types of its own, which the reader would cast.
    Throw(Unsupported(
        "COPY ... FROM takes CSV files only: use INSERT INTO ... FROM 'file' for other formats"));
  }
  duckdb::unordered_map<duckdb::idx_t, LogicalType> types;
  for (const auto& column : get.GetColumnIds()) {
    const duckdb::idx_t index = column.GetPrimaryIndex();
    if (index >= get.returned_types.size()) continue;
    const LogicalType& type = get.returned_types[index];
    if (type.IsNumeric() || type.id() == LogicalTypeId::DATE) types[index] = LogicalType::VARCHAR;
  }
  get.function.type_pushdown(context, get.bind_data, types);
  for (const auto& [index, type] : types) get.returned_types[index] = type;
  get.ResolveOperatorTypes();
}

void Visit(duckdb::ClientContext& context, duckdb::LogicalOperator& plan) {
  for (auto& child : plan.children) Visit(context, *child);
  if (plan.type != duckdb::LogicalOperatorType::LOGICAL_INSERT) return;
  auto& insert = plan.Cast<duckdb::LogicalInsert>();
  if (insert.table.catalog.GetCatalogType() != "timelake" || insert.children.empty()) return;
  auto& top = *insert.children[0];
  if (top.type == duckdb::LogicalOperatorType::LOGICAL_GET) {
    TakeOffReader(context, top.Cast<duckdb::LogicalGet>());
    return;
  }
  if (top.type != duckdb::LogicalOperatorType::LOGICAL_PROJECTION) return;
  for (auto& expression : top.expressions) TakeOff(&expression);
  auto& below = *top.children[0];
  if (below.type == duckdb::LogicalOperatorType::LOGICAL_EXPRESSION_GET) {
    TakeOffValues(context, below.Cast<duckdb::LogicalExpressionGet>(), top.expressions);
    below.ResolveOperatorTypes();
  }
  top.ResolveOperatorTypes();
}

void Optimize(duckdb::OptimizerExtensionInput& input,
              duckdb::unique_ptr<duckdb::LogicalOperator>& plan) {
  Visit(input.context, *plan);
}

}  // namespace

void RegisterPlainCasts(duckdb::DBConfig& config) {
  duckdb::OptimizerExtension extension;
  extension.pre_optimize_function = Optimize;
  duckdb::OptimizerExtension::Register(config, std::move(extension));
}

bool PlainCastsRun(duckdb::ClientContext& context) {
  if (!duckdb::ClientConfig::GetConfig(context).enable_optimizer) return false;
  const auto& disabled = duckdb::DBConfig::GetConfig(context).options.disabled_optimizers;
  return disabled.count(duckdb::OptimizerType::EXTENSION) == 0;
}

}  // namespace timelake::sql

#pragma once

#include <functional>

#include <duckdb/planner/column_binding.hpp>
#include <duckdb/planner/expression.hpp>
#include <duckdb/planner/logical_operator.hpp>

// Short names and small tools for rewriting DuckDB's bound plans.

namespace timelake::sql::plan {

using duckdb::ColumnBinding;
using duckdb::Expression;
using duckdb::ExpressionType;
using duckdb::idx_t;
using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;
using duckdb::LogicalType;
using duckdb::Value;
using Expr = duckdb::unique_ptr<Expression>;
using Exprs = duckdb::vector<Expr>;
using Plan = duckdb::unique_ptr<LogicalOperator>;

// A call of the scalar function `name`.
bool IsCall(const Expression& expression, const char* name);

// The first expression within `expression` that satisfies `wanted`, itself included; or null.
const Expression* Find(const Expression& expression,
                       const std::function<bool(const Expression&)>& wanted);

void ForEachExpression(LogicalOperator& op, const std::function<void(Expr&)>& visit);

// Calls `replace` on every node, from the top; one for which it returns true is not looked into.
void ReplaceIn(Expr& expression, const std::function<bool(Expr&)>& replace);
void ReplaceInPlan(LogicalOperator& op, const std::function<bool(Expr&)>& replace);

struct Column {
  LogicalType type;
  ColumnBinding binding;
  Expr Ref() const;
};
using Columns = duckdb::vector<Column>;

Columns ColumnsOf(LogicalOperator& op);

Expr Constant(Value value);
Expr Case(Expr when, Expr then, Expr otherwise);
Expr IsNotNull(Expr value);

}  // namespace timelake::sql::plan

#include "sql/rollup/aggregate_call.h"

#include <duckdb/parser/expression/columnref_expression.hpp>
#include <duckdb/parser/expression/function_expression.hpp>

#include "base/text.h"
#include "sql/rollup/expressions.h"

namespace timelake::sql {

using table::RollupKind;

std::optional<table::RollupAggregate> AggregateOfCall(const duckdb::FunctionExpression& call,
                                                      const std::string& time) {
  auto kind = table::FindRollupKind(ToLowerAscii(call.function_name));
  if (!kind || !IsPlainCall(call)) return std::nullopt;
  size_t given = call.children.size();
  if (*kind == RollupKind::kTimeWeightedMeanLinear) return std::nullopt;  // no such function
  if (*kind == RollupKind::kTimeWeightedMean && given == 3) {
    const auto method = TextOf(*call.children[2]);
    const std::string name = method ? ToLowerAscii(*method) : "";
    if (name != "locf" && name != "forward_fill" && name != "linear") return std::nullopt;
    if (name == "linear") kind = RollupKind::kTimeWeightedMeanLinear;
    --given;
  }
  const auto by = table::TimeArgument(*kind);
  if (by) {
    const std::string column = duckdb::ColumnRefExpression(time).ToString();
    if (given != 2 || call.children[*by]->ToString() != column) return std::nullopt;
  } else if (given != 1 && (given != 0 || *kind != RollupKind::kCount)) {
    return std::nullopt;
  }
  table::RollupAggregate aggregate;
  aggregate.kind = *kind;
  if (given > 0) aggregate.argument = call.children[by == 0 ? 1 : 0]->ToString();
  return aggregate;
}

}  // namespace timelake::sql

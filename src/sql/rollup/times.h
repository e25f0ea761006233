#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <duckdb/common/enums/expression_type.hpp>

#include "sql/rollup/match.h"
#include "table/rollup_position.h"

namespace timelake::sql {

// Conditions on the time of a table's rows, as the range that they ask for.
class TimeConditions {
 public:
  // `time`: the column. Both outlive it.
  TimeConditions(const MatchContext& context, const std::string& time)
      : context_(context), time_(time) {}

  // Takes a normalized condition that compares the time with something constant; false: it is
  // another one.
  bool Take(const duckdb::ParsedExpression& condition);

  table::TimeRange range() const { return range_; }

 private:
  bool IsTime(const duckdb::ParsedExpression& expression) const;
  std::optional<int64_t> InstantOf(const duckdb::ParsedExpression& expression) const;
  bool IsConstant(const duckdb::ParsedExpression& expression) const;
  bool Limit(duckdb::ExpressionType type, int64_t at);

  const MatchContext& context_;
  const std::string& time_;
  table::TimeRange range_{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
};

}  // namespace timelake::sql

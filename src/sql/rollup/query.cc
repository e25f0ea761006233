#include "sql/rollup/query.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "sql/names.h"
#include "sql/rollup/expressions.h"
#include "table/contract.h"

namespace timelake::sql {

namespace {

using table::RollupAggregate;
using table::RollupKind;

std::string ValueSql(const RollupAggregate& aggregate, const std::string& time) {
  if (aggregate.argument.empty()) return "count(*)";
  const std::string argument = "(" + aggregate.argument + ")";
  const std::string by = QuoteName(time);
  switch (aggregate.kind) {
    case RollupKind::kFirst: return fmt::format("first_by({}, {})", argument, by);
    case RollupKind::kLast: return fmt::format("last_by({}, {})", argument, by);
    case RollupKind::kM4: return fmt::format("m4({}, {})", by, argument);
    case RollupKind::kTimeWeightedMean:
      return fmt::format("time_weighted_mean({}, {})", by, argument);
    case RollupKind::kTimeWeightedMeanLinear:
      return fmt::format("time_weighted_mean({}, {}, 'linear')", by, argument);
    default: return fmt::format("{}({})", table::RollupKindName(aggregate.kind), argument);
  }
}

// SQL of all state columns over the source, in the order of `state`.
std::vector<std::string> StateSql(const RollupAggregate& aggregate, const std::string& time) {
  const std::string argument = "(" + aggregate.argument + ")";
  const std::string own = ValueSql(aggregate, time);
  const auto time_of = [&](const char* end) {
    return fmt::format("{}({}) FILTER (WHERE {} IS NOT NULL)", end, QuoteName(time), argument);
  };
  // Of equal times the greatest value, at both ends.
  const auto value_of = [&](const char* order) {
    return fmt::format("last_by(CAST({} AS DOUBLE), {}epoch_us({}))", argument, order,
                       QuoteName(time));
  };
  switch (aggregate.kind) {
    case RollupKind::kAvg: return {"sum(" + argument + ")", "count(" + argument + ")"};
    case RollupKind::kStddevSamp:
    case RollupKind::kStddevPop:
    case RollupKind::kVarSamp:
    case RollupKind::kVarPop:
      return {"count(" + argument + ")", "avg(CAST(" + argument + " AS DOUBLE))",
              "var_pop(" + argument + ") * count(" + argument + ")"};
    case RollupKind::kFirst: return {own, time_of("min")};
    case RollupKind::kLast: return {own, time_of("max")};
    case RollupKind::kTimeWeightedMean:
    case RollupKind::kTimeWeightedMeanLinear:
      return {own, time_of("min"), value_of("-"), time_of("max"), value_of("")};
    default: return {own};
  }
}

}  // namespace

std::vector<StateColumn> StateColumns(const table::RollupDefinition& definition) {
  std::vector<StateColumn> columns;
  std::set<std::string> names;
  for (const auto& aggregate : definition.aggregates) {
    columns.push_back({aggregate.name, ValueSql(aggregate, definition.time)});
    names.insert(aggregate.name);
  }
  for (const auto& aggregate : definition.aggregates) {
    const auto sql = StateSql(aggregate, definition.time);
    for (size_t i = 0; i < aggregate.state.size(); ++i) {
      if (names.insert(aggregate.state[i]).second) columns.push_back({aggregate.state[i], sql[i]});
    }
  }
  return columns;
}

std::string MergedValue(const RollupAggregate& aggregate, const std::vector<std::string>& state) {
  const auto typed = [&](const std::string& sql) {
    return aggregate.type.empty() ? sql : fmt::format("CAST({} AS {})", sql, aggregate.type);
  };
  switch (aggregate.kind) {
    case RollupKind::kCount: return fmt::format("CAST(coalesce(sum({}), 0) AS BIGINT)", state[0]);
    case RollupKind::kSum: return typed(fmt::format("sum({})", state[0]));
    case RollupKind::kM4: return fmt::format("m4({})", state[0]);
    case RollupKind::kMin: return typed(fmt::format("min({})", state[0]));
    case RollupKind::kMax: return typed(fmt::format("max({})", state[0]));
    case RollupKind::kAvg:
      return fmt::format("(CAST(sum({}) AS DOUBLE) / nullif(CAST(sum({}) AS DOUBLE), 0))", state[0],
                         state[1]);
    case RollupKind::kFirst: return typed(fmt::format("first_by({}, {})", state[0], state[1]));
    case RollupKind::kLast: return typed(fmt::format("last_by({}, {})", state[0], state[1]));
    case RollupKind::kTimeWeightedMean:
    case RollupKind::kTimeWeightedMeanLinear:
      return fmt::format("merge_time_weighted_mean({}{})", Join(state, ", "),
                         aggregate.kind == RollupKind::kTimeWeightedMean ? "" : ", 'linear'");
    default:
      return fmt::format("merge_{}({}, {}, {})", table::RollupKindName(aggregate.kind), state[0],
                         state[1], state[2]);
  }
}

std::map<std::string, std::string> MergedStates(const RollupAggregate& aggregate,
                                                const std::string& time,
                                                const std::vector<std::string>& state) {
  const auto sql = StateSql(aggregate, time);
  const auto count = [](const std::string& of) {
    return fmt::format("CAST(coalesce(sum({}), 0) AS BIGINT)", of);
  };
  switch (aggregate.kind) {
    case RollupKind::kAvg:
      return {{sql[0], fmt::format("sum({})", state[0])}, {sql[1], count(state[1])}};
    case RollupKind::kStddevSamp:
    case RollupKind::kStddevPop:
    case RollupKind::kVarSamp:
    case RollupKind::kVarPop: {
      const std::string all = fmt::format("nullif(sum({}), 0)", state[0]);
      return {{sql[0], count(state[0])},
              {sql[1], fmt::format("(sum({0} * {1}) / {2})", state[0], state[1], all)},
              {sql[2], fmt::format("(merge_var_pop({}) * {})", Join(state, ", "), all)}};
    }
    case RollupKind::kFirst: return {{sql[1], fmt::format("min({})", state[1])}};
    case RollupKind::kLast: return {{sql[1], fmt::format("max({})", state[1])}};
    case RollupKind::kTimeWeightedMean:
    case RollupKind::kTimeWeightedMeanLinear:
      return {{sql[1], fmt::format("min({})", state[1])},
              {sql[2], fmt::format("first_by({}, {})", state[2], state[1])},
              {sql[3], fmt::format("max({})", state[3])},
              {sql[4], fmt::format("last_by({}, {})", state[4], state[3])}};
    default: return {};
  }
}

std::string ToSql(const RefreshQuery& query) {
  const table::RollupDefinition& definition = *query.definition;
  std::vector<std::string> columns, groups;
  for (const auto& key : definition.keys) {
    columns.push_back(QuoteName(key));
    groups.push_back(std::to_string(columns.size()));
  }
  columns.push_back(BucketCall(definition.width, definition.time, query.zoned) + " AS " +
                    QuoteName(definition.bucket));
  groups.push_back(std::to_string(columns.size()));
  for (const auto& state : StateColumns(definition)) {
    columns.push_back(state.sql + " AS " + QuoteName(state.name));
  }
  const size_t dot = definition.source.find('.');
  std::string sql = fmt::format("SELECT {} FROM {}.{}.{}", Join(columns, ", "), kLakeCatalog,
                                QuoteName(definition.source.substr(0, dot)),
                                QuoteName(definition.source.substr(dot + 1)));
  std::vector<std::string> where = {InRanges(definition.time, query.ranges, query.zoned)};
  for (const auto& condition : definition.filter) where.push_back("(" + condition + ")");
  return sql + " WHERE " + Join(where, " AND ") + " GROUP BY " + Join(groups, ", ");
}

}  // namespace timelake::sql

#pragma once

#include <map>
#include <string>
#include <vector>

#include "table/rollup_definition.h"
#include "table/rollup_position.h"

namespace timelake::sql {

// A column of a query over the source.
struct StateColumn {
  std::string name;
  std::string sql;
};

// The aggregates of a definition and their state, in the order of the rollup's columns: those that
// were asked for, then the ones that only merging needs.
std::vector<StateColumn> StateColumns(const table::RollupDefinition& definition);

// SQL that merges the states of rows into an aggregate's value, of the type that it had.
// `state`: the SQL of each state column.
std::string MergedValue(const table::RollupAggregate& aggregate,
                        const std::vector<std::string>& state);

// How the state columns that are no aggregates by themselves are merged: SQL over the source, as
// StateColumns has it, to SQL over rows of states. `state`: the SQL of each state column.
std::map<std::string, std::string> MergedStates(const table::RollupAggregate& aggregate,
                                                const std::string& time,
                                                const std::vector<std::string>& state);

// The rows that a rollup has for these time ranges.
struct RefreshQuery {
  const table::RollupDefinition* definition = nullptr;
  std::vector<table::TimeRange> ranges;
  bool zoned = true;  // the type of its time column
};
std::string ToSql(const RefreshQuery& query);

}  // namespace timelake::sql

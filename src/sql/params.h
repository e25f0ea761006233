#pragma once

#include <duckdb/common/case_insensitive_map.hpp>
#include <duckdb/planner/expression/bound_parameter_data.hpp>

#include "base/error.h"
#include "timelake/session.h"

namespace timelake::sql {

// Values for DuckDB's parameters: `$name` by name, `$1` and `?` by position. Numbers and text
// behave as literals do: '2026-01-01' compares with a time.
Result<duckdb::case_insensitive_map_t<duckdb::BoundParameterData>> BindParams(const Params& params);

}  // namespace timelake::sql

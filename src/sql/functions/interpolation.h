#pragma once

#include <duckdb/common/unique_ptr.hpp>
#include <duckdb/common/vector.hpp>

#include "sql/functions/points.h"

namespace duckdb {
struct AggregateInputData;
class ClientContext;
class Expression;
struct FunctionData;
}  // namespace duckdb

namespace timelake::sql {

// Of an aggregate whose argument `place`, where it is given, says how a curve goes on between
// readings: 'locf' (the default; also 'forward_fill') or 'linear', a constant.
duckdb::unique_ptr<duckdb::FunctionData> BindMethod(
    duckdb::ClientContext& context, const char* function,
    const duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& arguments, size_t place);

// What was bound.
Interpolation MethodOf(const duckdb::AggregateInputData& data);

}  // namespace timelake::sql

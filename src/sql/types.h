#pragma once

#include <optional>

#include <duckdb/common/types.hpp>

#include "iceberg/schema.h"
#include "iceberg/value.h"

namespace duckdb {
class Value;
}

// Iceberg types as DuckDB's. All of them have an exact counterpart except that fixed[n] and binary
// are both BLOB.

namespace timelake::sql {

duckdb::LogicalType ToLogicalType(const iceberg::Type& type);

// A constant as a value of a column of `type`, exactly: nothing if the constant is NULL, nested, or
// cannot be written as that type without a change (0.1 as float, 2^40 as int).
std::optional<iceberg::Value> ToIcebergValue(const duckdb::Value& constant,
                                             const iceberg::Type& type);

// The other way round, of a primitive type but fixed and binary; nothing for text that is not
// UTF-8.
std::optional<duckdb::Value> ToDuckDbValue(const iceberg::Value& value, const iceberg::Type& type);

}  // namespace timelake::sql

#pragma once

#include <map>
#include <memory>
#include <string>

#include <arrow/type.h>

#include "base/error.h"
#include "iceberg/schema.h"

namespace timelake::iceberg {

// Key of Arrow field metadata in which Parquet files carry field ids.
inline constexpr char kArrowFieldIdKey[] = "PARQUET:field_id";

// The Iceberg schema of Arrow data, with fresh ids from 1; a non-nullable field becomes required.
// Integers to 32 bits become int, uint32 and int64 long; any timestamp unit becomes microseconds
// (with a zone: timestamptz); dictionaries count as their values, unknown extension types as their
// storage. `given` names the Iceberg types of top-level columns that shall not follow from Arrow's:
// a column of Arrow's null type needs one. Without: kUnsupported, naming the column and what to
// cast to, for uint64, null, time64[ns], durations, intervals, unions and decimals beyond 38
// digits. kInvalidArgument for repeated or empty names, and for a given column that is not there.
Result<Schema> FromArrow(const arrow::Schema& schema,
                         const std::map<std::string, Type>& given = {});

// The Arrow schema to read and write the table with: timestamps in microseconds, timestamptz with
// the zone "UTC", uuid as the extension type arrow.uuid, field ids at every depth. The schema must
// be valid (ValidateSchema).
std::shared_ptr<arrow::Schema> ToArrow(const Schema& schema);
std::shared_ptr<arrow::DataType> ToArrow(const Type& type);

}  // namespace timelake::iceberg

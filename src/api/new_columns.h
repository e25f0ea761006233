#pragma once

#include <memory>
#include <set>
#include <string>

#include <arrow/record_batch.h>

#include "iceberg/metadata.h"

namespace timelake::api {

// Whether the data has a column that the table lacks.
bool HasNewColumns(const iceberg::Schema& table, const arrow::Schema& data);

// The metadata with the columns of the data that it lacks at the end of its schema, of the types
// that a new table would have; the same metadata if there are none. kInvalidArgument and
// kUnsupported (a type that cannot be stored) name table and column.
Result<std::shared_ptr<const iceberg::TableMetadata>> WithNewColumns(
    const std::string& table, std::shared_ptr<const iceberg::TableMetadata> metadata,
    const arrow::Schema& data);

// The rows of `reader` without columns of other names.
std::shared_ptr<arrow::RecordBatchReader> SelectColumns(
    std::shared_ptr<arrow::RecordBatchReader> reader, const std::set<std::string>& names);

}  // namespace timelake::api

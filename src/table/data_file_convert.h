#pragma once

#include <memory>

#include <arrow/array/array_base.h>

#include "base/error.h"
#include "table/data_file_columns.h"

namespace timelake::table {

// What Parquet's reader made of a column, as the table's type: promotions (specification, "Schema
// Evolution"), other time units where they are exact, other physical forms of one type. Values
// that the table's type cannot hold exactly are kUnsupported (time units) or kCorrupt; messages
// name the column only. A dictionary of strings stays one.
Result<std::shared_ptr<arrow::Array>> ConvertColumn(const ColumnSource& source,
                                                    const std::shared_ptr<arrow::Array>& array);

// `rows` times the constant, or null, of a column that the file does not have.
Result<std::shared_ptr<arrow::Array>> MissingColumn(const ColumnSource& source, int64_t rows);

}  // namespace timelake::table

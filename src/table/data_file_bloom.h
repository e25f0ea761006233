#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/io/interfaces.h>
#include <parquet/metadata.h>

#include "iceberg/value.h"
#include "table/data_file_columns.h"
#include "table/env.h"

namespace timelake::table {

// Whether a row group may hold one of the values of a top-level column: false only where the column
// has a Bloom filter that rules all of them out (Parquet format, "Bloom Filter"). Filters are
// cached. Floats and decimals are never ruled out: equal ones may differ in their bytes. kCorrupt
// for a filter that cannot be read.
Result<bool> MayHold(const Env& env, const std::string& uri,
                     const std::shared_ptr<arrow::io::RandomAccessFile>& source,
                     const std::shared_ptr<parquet::FileMetaData>& footer, int row_group,
                     const ColumnSource& column, const std::vector<iceberg::Value>& values);

}  // namespace timelake::table

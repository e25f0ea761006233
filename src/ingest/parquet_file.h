#pragma once

#include <memory>
#include <string>

#include <arrow/record_batch.h>

#include "base/error.h"

namespace timelake::ingest {

// A Parquet file by any writer, as Arrow reads it (INT96 as microseconds). Errors name the file.
Result<std::shared_ptr<arrow::RecordBatchReader>> ReadParquet(const std::string& path);

}  // namespace timelake::ingest

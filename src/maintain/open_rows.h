#pragma once

#include <memory>

#include "scan/file_rows.h"

namespace timelake::maintain {

// scan::ReadFileRows, or the rows as they were written if this process has just done so.
std::shared_ptr<arrow::RecordBatchReader> OpenRows(const table::Env* env,
                                                   const iceberg::TableMetadata* metadata,
                                                   const scan::ScanFile& file,
                                                   scan::FileRowsRequest request);

}  // namespace timelake::maintain

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/record_batch.h>

#include "scan/scan.h"
#include "table/row_ranges.h"

namespace timelake::scan {

struct FileRowsRequest {
  iceberg::Schema schema;  // the columns: all of it
  bool fine = false;       // in batches as small as the pages allow
  // Of the file's rows, counted from 0 with those that are deleted; none: all.
  std::optional<table::RowRange> rows = {};
};

// The rows of one data file that are not deleted, in the order of the file; strings stay
// dictionaries where they can. Opens the file with the first batch. kCorrupt naming the file if its
// rows are not as many as the manifest says. `env` and `metadata` outlive the reader.
std::shared_ptr<arrow::RecordBatchReader> ReadFileRows(const table::Env* env,
                                                       const iceberg::TableMetadata* metadata,
                                                       ScanFile file, FileRowsRequest request);

}  // namespace timelake::scan

#pragma once

#include <cstdint>
#include <memory>

#include <arrow/record_batch.h>

#include "table/data_file_reader.h"

namespace timelake::scan {

// A column of one row group that can only be read from its beginning: no page index, or nested with
// several leaves.
class ColumnStream {
 public:
  // `request` asks for just this column.
  static Result<std::unique_ptr<ColumnStream>> Open(const table::Env& env,
                                                    const table::DataFileRequest& request,
                                                    int row_group);

  // The rows, one range behind the other. Calls must ascend.
  Result<std::shared_ptr<arrow::Array>> Read(const table::RowRanges& rows);

 private:
  std::unique_ptr<table::DataFileReader> file_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::Array> array_;  // the last batch
  int64_t begin_ = 0;                    // its first row
};

}  // namespace timelake::scan

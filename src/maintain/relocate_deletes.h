#pragma once

#include <memory>

#include <arrow/buffer.h>

#include "iceberg/manifest.h"
#include "table/placing.h"

namespace timelake::maintain {

struct MovedDeletes {
  iceberg::DataFile file;  // lacks its path
  std::shared_ptr<arrow::Buffer> bytes;
};

// A position-delete file (Iceberg specification, "Position Delete Files") that names the data files
// by where they lie now. The optional column `row` is left out.
Result<MovedDeletes> MovePositionDeletes(const table::Placing& placing,
                                         const iceberg::DataFile& file);

}  // namespace timelake::maintain

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/record_batch.h>

#include "base/error.h"

namespace timelake::index {

// The rows at these places.
Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(
    const std::shared_ptr<arrow::RecordBatch>& batch, const std::vector<int64_t>& rows);

}  // namespace timelake::index

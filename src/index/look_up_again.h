#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/record_batch.h>

#include "iceberg/schema.h"
#include "table/contract.h"

namespace timelake::index {

// The index without its rows `places` (ascending), and with the rows of their series in `found`,
// which has the newest rows that are left, one a series, ordered by series key. Rows of other
// series in `found` count for nothing.
Result<std::shared_ptr<arrow::RecordBatch>> LookUpAgain(
    const std::shared_ptr<arrow::RecordBatch>& index, const std::vector<int64_t>& places,
    const std::shared_ptr<arrow::RecordBatch>& found, const iceberg::Schema& schema,
    const table::Contract& contract);

}  // namespace timelake::index

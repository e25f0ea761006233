#pragma once

#include <string>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/result.h>

namespace timelake::sqltest {

// One line a row, columns separated by '|': NULL, text as it is, numbers in their shortest form,
// times in ISO 8601, bytes in hex, nested values as [a, b], {x: a} and {k=a}.
arrow::Result<std::vector<std::string>> RowsAsText(arrow::RecordBatchReader* reader);

}  // namespace timelake::sqltest

#pragma once

#include <functional>
#include <memory>

#include <arrow/record_batch.h>
#include <duckdb/common/unique_ptr.hpp>

#include "base/error.h"

namespace duckdb {
class PendingQueryResult;
}

namespace timelake::sql {

struct Database;
struct ResultOutput;

// A planned statement's result as Arrow batches. The statement runs on the threads of the database
// and, where the reader would have to wait for them, on the reader's own; it waits while some
// megabytes have not been read. A result of less than one full batch is complete when this returns,
// and so is a statement that changes something; errors until then are this function's.
//
// `finished` is called once, at the end, after an error or when the reader goes away before (then
// the statement is stopped); its argument says whether the database is beyond use.
Result<std::shared_ptr<arrow::RecordBatchReader>> MakeResultReader(
    std::shared_ptr<Database> database, duckdb::unique_ptr<duckdb::PendingQueryResult> statement,
    std::shared_ptr<ResultOutput> output, std::function<void(bool fatal)> finished);

}  // namespace timelake::sql

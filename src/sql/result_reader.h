#pragma once

#include <functional>
#include <memory>

#include <arrow/record_batch.h>
#include <duckdb/common/unique_ptr.hpp>

#include "base/error.h"

namespace duckdb {
class QueryResult;
}

namespace timelake::sql {

struct Database;

// A running statement's result as Arrow batches, fetched as the reader is read: DuckDB holds about
// a megabyte ahead and then waits. `finished` is called once, at the end, after an error or when
// the reader goes away before (then the statement is stopped); its argument says whether the
// database is beyond use.
Result<std::shared_ptr<arrow::RecordBatchReader>> MakeResultReader(
    std::shared_ptr<Database> database, duckdb::unique_ptr<duckdb::QueryResult> result,
    std::function<void(bool fatal)> finished);

}  // namespace timelake::sql

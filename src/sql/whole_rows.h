#pragma once

#include <memory>

#include <arrow/record_batch.h>
#include <arrow/type.h>

namespace duckdb {
class PhysicalOperator;
}

namespace timelake::sql {

// Rows in memory that are, as they lie there, all that a statement gives out: its plan scans them
// without a filter, and above are projections at most that pick columns. They are taken out of the
// scan, which gives out none then. Null: it is not such a plan, or `schema`, that of the result,
// has other types.
std::shared_ptr<arrow::RecordBatch> TakeWholeRows(duckdb::PhysicalOperator& plan,
                                                  const std::shared_ptr<arrow::Schema>& schema);

}  // namespace timelake::sql

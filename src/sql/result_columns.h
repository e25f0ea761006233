#pragma once

#include <cstdint>
#include <memory>

#include <arrow/array/data.h>

#include "sql/result_format.h"

namespace duckdb {
class Vector;
}

namespace timelake::sql {

// One column of a batch while it grows. May throw, like all that DuckDB calls.
class ResultColumn {
 public:
  virtual ~ResultColumn() = default;

  virtual void Append(duckdb::Vector& values, duckdb::idx_t count) = 0;
  virtual int64_t bytes() const = 0;
  // What was appended since the last call.
  virtual std::shared_ptr<arrow::ArrayData> Finish() = 0;
};

// For any path but kOther.
std::unique_ptr<ResultColumn> MakeResultColumn(ColumnPath path, const duckdb::LogicalType& type,
                                               std::shared_ptr<arrow::DataType> arrow_type);

}  // namespace timelake::sql

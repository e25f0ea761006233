#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/record_batch.h>

#include "sql/result_columns.h"
#include "sql/result_format.h"

namespace duckdb {
class ArrowAppender;
class DataChunk;
}  // namespace duckdb

namespace timelake::sql {

// A batch of a result while it grows, chunk by chunk. May throw, like all that DuckDB calls.
class ResultBatch {
 public:
  explicit ResultBatch(std::shared_ptr<const ResultFormat> format);
  ~ResultBatch();

  void Append(duckdb::DataChunk& chunk);

  int64_t rows() const { return rows_; }
  int64_t bytes() const;
  // Large enough to leave.
  bool full() const;

  // What was appended since the last call.
  std::shared_ptr<arrow::RecordBatch> Finish();

 private:
  std::vector<std::shared_ptr<arrow::ArrayData>> FinishOthers();

  const std::shared_ptr<const ResultFormat> format_;
  std::vector<std::unique_ptr<ResultColumn>> columns_;  // null: one of the others
  std::unique_ptr<duckdb::ArrowAppender> others_;       // null while empty
  int64_t rows_ = 0;
};

}  // namespace timelake::sql

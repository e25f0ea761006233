#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "write/row_compare.h"

namespace timelake::maintain {

// Passes the rows of a file on and looks that they are in order: a merge of rows that are not would
// leave duplicates and files that say they are sorted. Counts rows into `rows`; the first row out
// of order is kCorrupt, and `in_order` becomes false. Not thread-safe.
class InOrder : public arrow::RecordBatchReader {
 public:
  InOrder(std::shared_ptr<arrow::RecordBatchReader> rows, std::vector<write::OrderColumn> order,
          std::string path, int64_t* count, bool* in_order)
      : rows_(std::move(rows)),
        order_(std::move(order)),
        path_(std::move(path)),
        count_(count),
        in_order_(in_order) {}

  std::shared_ptr<arrow::Schema> schema() const override { return rows_->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override;

 private:
  arrow::Status OutOfOrder(int64_t row);

  std::shared_ptr<arrow::RecordBatchReader> rows_;
  const std::vector<write::OrderColumn> order_;
  const std::string path_;
  int64_t* const count_;
  bool* const in_order_;
  int64_t seen_ = 0;
  std::shared_ptr<arrow::RecordBatch> last_;
};

}  // namespace timelake::maintain

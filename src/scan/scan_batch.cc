#include <atomic>

#include <arrow/array.h>

#include "iceberg/arrow_schema.h"
#include "scan/row_selection.h"
#include "scan/scan.h"

namespace timelake::scan {
namespace {

class BatchScanner : public Scanner {
 public:
  BatchScanner(std::shared_ptr<arrow::RecordBatch> batch, ScanRequest request)
      : batch_(std::move(batch)), request_(std::move(request)) {
    iceberg::Schema out;
    for (int id : request_.field_ids) {
      out.fields.push_back(*iceberg::FindFieldById(request_.schema, id));
    }
    schema_ = iceberg::ToArrow(out);
    plan_.counters = std::make_shared<Counters>();
    plan_.counters->rows_total = plan_.counters->rows_read = batch_->num_rows();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  const Plan& plan() const override { return plan_; }

  Result<std::shared_ptr<arrow::RecordBatchReader>> Next(RowFilter* filter, RowId* first) override {
    if (first) *first = RowId();
    if (done_.exchange(true)) return nullptr;
    table::RowRanges rows;
    table::Append({0, batch_->num_rows()}, &rows);
    for (size_t i = 0; i < request_.filters.size(); ++i) {
      const auto& [field_id, tests, exact] = request_.filters[i];
      const auto column = Column(field_id)->data();
      if (!exact || !KeepPassing(*column, tests, &rows)) {
        TL_RETURN_NOT_OK(filter->Keep(i, column, &rows));
      }
    }
    arrow::ArrayVector columns;
    for (int id : request_.field_ids) {
      TL_ASSIGN_OR_RAISE(auto column, Take(Column(id), rows));
      columns.push_back(std::move(column));
    }
    const int64_t count = table::CountRows(rows);
    plan_.counters->rows_passed += count;
    auto batch = arrow::RecordBatch::Make(schema_, count, std::move(columns));
    return arrow::RecordBatchReader::Make({batch}, schema_);
  }

 private:
  std::shared_ptr<arrow::Array> Column(int field_id) const {
    const auto& fields = request_.schema.fields;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].id == field_id) return batch_->column(static_cast<int>(i));
    }
    return nullptr;  // FindFieldById found it
  }

  const std::shared_ptr<arrow::RecordBatch> batch_;
  const ScanRequest request_;
  std::shared_ptr<arrow::Schema> schema_;
  Plan plan_;
  std::atomic<bool> done_{false};
};

}  // namespace

std::shared_ptr<Scanner> ScanBatch(std::shared_ptr<arrow::RecordBatch> batch, ScanRequest request) {
  return std::make_shared<BatchScanner>(std::move(batch), std::move(request));
}

}  // namespace timelake::scan

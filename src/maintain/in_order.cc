#include "maintain/in_order.h"

#include "base/error.h"

namespace timelake::maintain {

Status InOrder::OutOfOrder(int64_t row) {
  *in_order_ = false;
  return Corrupt("{}: row {} belongs before the one ahead of it, though the file says it is sorted",
                 path_, row);
}

Status InOrder::ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) {
  TL_RETURN_NOT_OK(rows_->ReadNext(batch));
  if (*batch == nullptr || (*batch)->num_rows() == 0) return Status::OK();
  const auto columns = (*batch)->columns();
  if (last_ != nullptr) {
    TL_ASSIGN_OR_RAISE(const auto across,
                       write::RowComparer::Make(last_->columns(), columns, order_));
    if (across.Compare(last_->num_rows() - 1, 0) > 0) return OutOfOrder(seen_ + 1);
  }
  TL_ASSIGN_OR_RAISE(const auto within, write::RowComparer::Make(columns, columns, order_));
  for (int64_t row = 1; row < (*batch)->num_rows(); ++row) {
    if (within.Compare(row - 1, row) > 0) return OutOfOrder(seen_ + row + 1);
  }
  last_ = *batch;
  seen_ += (*batch)->num_rows();
  *count_ += (*batch)->num_rows();
  return Status::OK();
}

}  // namespace timelake::maintain

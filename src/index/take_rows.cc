#include "index/take_rows.h"

#include <arrow/array.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>

namespace timelake::index {

Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(
    const std::shared_ptr<arrow::RecordBatch>& batch, const std::vector<int64_t>& rows) {
  static const Status initialized = arrow::compute::Initialize();
  TL_RETURN_NOT_OK(initialized);
  const auto positions = std::make_shared<arrow::Int64Array>(static_cast<int64_t>(rows.size()),
                                                             arrow::Buffer::Wrap(rows));
  TL_ASSIGN_OR_RAISE(auto taken, arrow::compute::Take(batch, positions));
  return taken.record_batch();
}

}  // namespace timelake::index

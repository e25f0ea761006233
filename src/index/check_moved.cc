#include <arrow/builder.h>
#include <arrow/compute/api.h>

#include "index/key_order.h"
#include "index/last_value_index.h"

namespace timelake::index {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

Result<Batch> TakeRows(const Batch& batch, arrow::Int64Builder* rows) {
  TL_ASSIGN_OR_RAISE(auto positions, rows->Finish());
  TL_ASSIGN_OR_RAISE(auto taken, arrow::compute::Take(batch, positions));
  return taken.record_batch();
}

}  // namespace

Status CheckMoved(const Batch& index, const Batch& moved, const iceberg::Schema& schema,
                  const table::Contract& contract, bool order_kept) {
  TL_ASSIGN_OR_RAISE(const RowOrder order, RowOrder::Make(*index, *moved, schema, contract));
  arrow::Int64Builder indexed_rows, moved_rows;
  for (const Place& place : Locate(order, index->num_rows(), moved->num_rows())) {
    if (!place.matches) return NotFound("a replaced file has a series that the index lacks");
    if (!order.RightIsNewer(place.older, place.newer)) continue;
    if (order_kept && order.SameTime(place.older, place.newer)) continue;
    TL_RETURN_NOT_OK(indexed_rows.Append(place.older));
    TL_RETURN_NOT_OK(moved_rows.Append(place.newer));
  }
  TL_ASSIGN_OR_RAISE(auto ours, TakeRows(index, &indexed_rows));
  TL_ASSIGN_OR_RAISE(auto theirs, TakeRows(moved, &moved_rows));
  const auto options = arrow::EqualOptions::Defaults().nans_equal(true);
  if (ours->Equals(*theirs, /*check_metadata=*/false, options)) return Status::OK();
  return NotFound("a replaced file has rows of the same time as indexed ones");
}

}  // namespace timelake::index

#include "index/key_order.h"
#include "index/last_value_index.h"
#include "index/take_rows.h"

namespace timelake::index {

Status CheckMoved(const std::shared_ptr<arrow::RecordBatch>& index,
                  const std::shared_ptr<arrow::RecordBatch>& moved, const iceberg::Schema& schema,
                  const table::Contract& contract, bool order_kept) {
  TL_ASSIGN_OR_RAISE(const RowOrder order, RowOrder::Make(*index, *moved, schema, contract));
  std::vector<int64_t> indexed_rows, moved_rows;
  for (const Place& place : Locate(order, index->num_rows(), moved->num_rows())) {
    if (!place.matches) return NotFound("a replaced file has a series that the index lacks");
    if (!order.RightIsNewer(place.older, place.newer)) continue;
    if (order_kept && order.SameTime(place.older, place.newer)) continue;
    indexed_rows.push_back(place.older);
    moved_rows.push_back(place.newer);
  }
  TL_ASSIGN_OR_RAISE(auto ours, TakeRows(index, indexed_rows));
  TL_ASSIGN_OR_RAISE(auto theirs, TakeRows(moved, moved_rows));
  const auto options = arrow::EqualOptions::Defaults().nans_equal(true);
  if (ours->Equals(*theirs, /*check_metadata=*/false, options)) return Status::OK();
  return NotFound("a replaced file has rows of the same time as indexed ones");
}

}  // namespace timelake::index

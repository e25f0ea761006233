#include "index/look_up_again.h"

#include "index/key_order.h"
#include "index/last_value_index.h"
#include "index/take_rows.h"

namespace timelake::index {

Result<std::shared_ptr<arrow::RecordBatch>> LookUpAgain(
    const std::shared_ptr<arrow::RecordBatch>& index, const std::vector<int64_t>& places,
    const std::shared_ptr<arrow::RecordBatch>& found, const iceberg::Schema& schema,
    const table::Contract& contract) {
  std::vector<int64_t> others;
  for (size_t row = 0, next = 0; row < static_cast<size_t>(index->num_rows()); ++row) {
    if (next < places.size() && places[next] == static_cast<int64_t>(row)) {
      ++next;
    } else {
      others.push_back(static_cast<int64_t>(row));
    }
  }
  TL_ASSIGN_OR_RAISE(const auto lost, TakeRows(index, places));
  TL_ASSIGN_OR_RAISE(const auto kept, TakeRows(index, others));
  TL_ASSIGN_OR_RAISE(const RowOrder order, RowOrder::Make(*lost, *found, schema, contract));
  std::vector<int64_t> again;
  for (const Place& place : Locate(order, lost->num_rows(), found->num_rows())) {
    if (place.matches) again.push_back(place.newer);
  }
  TL_ASSIGN_OR_RAISE(const auto back, TakeRows(found, again));
  return Merge(kept, back, schema, contract);
}

}  // namespace timelake::index

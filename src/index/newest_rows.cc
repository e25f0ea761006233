#include <algorithm>
#include <utility>
#include <vector>

#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>

#include "iceberg/arrow_schema.h"
#include "index/key_order.h"
#include "index/last_value_index.h"
#include "write/combine.h"
#include "write/rank.h"

namespace timelake::index {
namespace {

// Rows held before they are reduced to the newest of each series.
constexpr int64_t kHeldRows = 1 << 20;

Result<write::Ranks> RankSeries(const arrow::RecordBatch& rows, const iceberg::Schema& schema,
                                const table::Contract& contract) {
  write::Ranks series{std::vector<uint32_t>(static_cast<size_t>(rows.num_rows()), 0), 1};
  for (int id : contract.key_ids) {
    TL_ASSIGN_OR_RAISE(write::Ranks key, write::RankColumn(*rows.column(ColumnOf(schema, id))));
    series = write::CombineRanks(std::move(series), key);
  }
  write::Densify(&series);
  return series;
}

// The newest row of each series, by series key; the last of equal ones.
Result<std::shared_ptr<arrow::RecordBatch>> Reduce(
    const std::vector<std::shared_ptr<arrow::RecordBatch>>& held, const iceberg::Schema& schema,
    const table::Contract& contract) {
  TL_ASSIGN_OR_RAISE(auto rows, arrow::ConcatenateRecordBatches(held));
  if (rows->num_rows() == 0) return rows;
  TL_ASSIGN_OR_RAISE(const write::Ranks series, RankSeries(*rows, schema, contract));
  TL_ASSIGN_OR_RAISE(const RowOrder order, RowOrder::Make(*rows, *rows, schema, contract));
  std::vector<int64_t> newest(series.count, -1);
  for (int64_t row = 0; row < rows->num_rows(); ++row) {
    int64_t& best = newest[series.of_row[row]];
    if (best < 0 || order.RightIsNewer(best, row)) best = row;
  }
  const arrow::Int64Array positions(static_cast<int64_t>(newest.size()),
                                    arrow::Buffer::Wrap(newest.data(), newest.size()));
  arrow::ArrayVector columns;
  for (const auto& column : rows->columns()) {
    TL_ASSIGN_OR_RAISE(
        columns.emplace_back(),
        arrow::compute::Take(*column, positions, arrow::compute::TakeOptions::NoBoundsCheck()));
  }
  return arrow::RecordBatch::Make(rows->schema(), positions.length(), std::move(columns));
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> NewestRows(
    const std::shared_ptr<arrow::RecordBatchReader>& rows, const iceberg::Schema& schema,
    const table::Contract& contract) {
  static const Status initialized = arrow::compute::Initialize();
  TL_RETURN_NOT_OK(initialized);
  const auto arrow_schema = iceberg::ToArrow(schema);
  TL_ASSIGN_OR_RAISE(auto empty, arrow::RecordBatch::MakeEmpty(arrow_schema));
  std::vector<std::shared_ptr<arrow::RecordBatch>> held = {empty};
  int64_t held_rows = 0;
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    TL_RETURN_NOT_OK(rows->ReadNext(&batch));
    if (batch == nullptr) return Reduce(held, schema, contract);
    arrow::ArrayVector columns;
    for (const auto& column : batch->columns()) {
      TL_ASSIGN_OR_RAISE(columns.emplace_back(), write::WithoutDictionary(column));
    }
    held.push_back(arrow::RecordBatch::Make(arrow_schema, batch->num_rows(), std::move(columns)));
    held_rows += batch->num_rows();
    if (held_rows < std::max(kHeldRows, 2 * held[0]->num_rows())) continue;
    TL_ASSIGN_OR_RAISE(auto newest, Reduce(held, schema, contract));
    held = {std::move(newest)};
    held_rows = 0;
  }
}

}  // namespace timelake::index

#include <algorithm>
#include <utility>
#include <vector>

#include <arrow/array/concatenate.h>
#include <arrow/builder.h>
#include <arrow/compute/api.h>

#include "iceberg/arrow_schema.h"
#include "index/key_order.h"
#include "index/last_value_index.h"

namespace timelake::index {
namespace {

// Up to so many pieces a column is put together from slices, beyond from single rows.
constexpr size_t kMaxSlices = 4096;

// Rows [begin, begin + length) of one side.
struct Piece {
  bool newer = false;
  int64_t begin = 0;
  int64_t length = 0;
};

void Append(bool newer, int64_t begin, int64_t end, std::vector<Piece>* pieces) {
  if (begin == end) return;
  if (!pieces->empty()) {
    Piece& last = pieces->back();
    if (last.newer == newer && last.begin + last.length == begin) {
      last.length += end - begin;
      return;
    }
  }
  pieces->push_back({newer, begin, end - begin});
}

std::vector<Piece> PlanMerge(const RowOrder& order, int64_t older_rows, int64_t newer_rows) {
  std::vector<Piece> pieces;
  int64_t next = 0;  // of older
  for (const Place& place : Locate(order, older_rows, newer_rows)) {
    Append(false, next, place.older, &pieces);
    next = place.older;
    const bool take = !place.matches || order.RightIsNewer(place.older, place.newer);
    if (!take) continue;
    Append(true, place.newer, place.newer + 1, &pieces);
    if (place.matches) ++next;
  }
  Append(false, next, older_rows, &pieces);
  return pieces;
}

// Positions in `older` followed by `newer`.
Result<std::shared_ptr<arrow::Array>> PositionsOf(const std::vector<Piece>& pieces,
                                                  int64_t older_rows) {
  arrow::Int64Builder positions;
  for (const Piece& piece : pieces) {
    const int64_t begin = piece.begin + (piece.newer ? older_rows : 0);
    for (int64_t i = 0; i < piece.length; ++i) TL_RETURN_NOT_OK(positions.Append(begin + i));
  }
  return positions.Finish();
}

Result<std::shared_ptr<arrow::Array>> MergeColumn(const std::shared_ptr<arrow::Array>& older,
                                                  const std::shared_ptr<arrow::Array>& newer,
                                                  const std::vector<Piece>& pieces,
                                                  const arrow::Array* positions) {
  if (positions != nullptr) {
    TL_ASSIGN_OR_RAISE(auto both, arrow::Concatenate({older, newer}));
    return arrow::compute::Take(*both, *positions, arrow::compute::TakeOptions::NoBoundsCheck());
  }
  arrow::ArrayVector slices;
  for (const Piece& piece : pieces) {
    slices.push_back((piece.newer ? newer : older)->Slice(piece.begin, piece.length));
  }
  return arrow::Concatenate(slices);
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> Merge(const std::shared_ptr<arrow::RecordBatch>& older,
                                                  const std::shared_ptr<arrow::RecordBatch>& newer,
                                                  const iceberg::Schema& schema,
                                                  const table::Contract& contract) {
  if (newer->num_rows() == 0) return older;
  if (older->num_rows() == 0) return newer;
  TL_ASSIGN_OR_RAISE(const RowOrder order, RowOrder::Make(*older, *newer, schema, contract));
  const auto pieces = PlanMerge(order, older->num_rows(), newer->num_rows());
  std::shared_ptr<arrow::Array> positions;
  if (pieces.size() > kMaxSlices) {
    TL_ASSIGN_OR_RAISE(positions, PositionsOf(pieces, older->num_rows()));
  }
  int64_t rows = 0;
  for (const Piece& piece : pieces) rows += piece.length;
  arrow::ArrayVector columns;
  for (int i = 0; i < older->num_columns(); ++i) {
    TL_ASSIGN_OR_RAISE(columns.emplace_back(),
                       MergeColumn(older->column(i), newer->column(i), pieces, positions.get()));
  }
  return arrow::RecordBatch::Make(iceberg::ToArrow(schema), rows, std::move(columns));
}

}  // namespace timelake::index

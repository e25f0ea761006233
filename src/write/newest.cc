#include "write/newest.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/extension_type.h>
#include <arrow/type_traits.h>

#include "base/memory.h"
#include "iceberg/arrow_schema.h"
#include "write/gather.h"
#include "write/row_compare.h"
#include "write/sort.h"

namespace timelake::write {
namespace {

// Fewer rows are not worth a pass.
constexpr int64_t kHeldRows = 1 << 18;
constexpr int64_t kManyRows = 1 << 20;

using Batch = std::shared_ptr<arrow::RecordBatch>;

// The newest row of each series of two batches that are in the order of their series, by position
// in `older` followed by `newer`.
Result<std::vector<uint32_t>> PlanMerge(const Target& target, const arrow::RecordBatch& older,
                                        const arrow::RecordBatch& newer) {
  const std::vector<OrderColumn> order = OrderColumns(target);
  const auto key = static_cast<ptrdiff_t>(target.contract.key_ids.size());
  TL_ASSIGN_OR_RAISE(const auto series, RowComparer::Make(older.columns(), newer.columns(),
                                                          {order.begin(), order.begin() + key}));
  TL_ASSIGN_OR_RAISE(const auto when, RowComparer::Make(older.columns(), newer.columns(),
                                                        {order.begin() + key, order.end()}));
  const int64_t left = older.num_rows(), right = newer.num_rows();
  std::vector<uint32_t> rows;
  rows.reserve(static_cast<size_t>(left + right));
  int64_t i = 0, j = 0;
  while (i < left || j < right) {
    const int place = i == left ? 1 : j == right ? -1 : series.Compare(i, j);
    const bool take_older = place < 0 || (place == 0 && when.Compare(i, j) > 0);
    rows.push_back(static_cast<uint32_t>(take_older ? i : left + j));
    i += place <= 0;
    j += place >= 0;
  }
  return rows;
}

// The column's values at these positions; both inputs are freed.
Result<std::shared_ptr<arrow::Array>> MergeColumn(std::shared_ptr<arrow::Array> older,
                                                  std::shared_ptr<arrow::Array> newer,
                                                  const std::vector<uint32_t>& rows) {
  if (older->type_id() == arrow::Type::EXTENSION) {
    const auto type = older->type();
    const auto storage = [](const std::shared_ptr<arrow::Array>& array) {
      return static_cast<const arrow::ExtensionArray&>(*array).storage();
    };
    TL_ASSIGN_OR_RAISE(auto merged, MergeColumn(storage(older), storage(newer), rows));
    return arrow::ExtensionType::WrapArray(type, merged);
  }
  TL_ASSIGN_OR_RAISE(auto builder, arrow::MakeBuilder(older->type()));
  TL_RETURN_NOT_OK(builder->Reserve(static_cast<int64_t>(rows.size())));
  if (arrow::is_binary_like(older->type_id())) {
    const auto bytes = [](const arrow::Array& array) {
      return static_cast<const arrow::BinaryArray&>(array).total_values_length();
    };
    TL_RETURN_NOT_OK(static_cast<arrow::BinaryBuilder&>(*builder).ReserveData(
        std::min<int64_t>(bytes(*older) + bytes(*newer), arrow::kBinaryMemoryLimit)));
  }
  const arrow::ArraySpan left(*older->data()), right(*newer->data());
  const auto left_rows = static_cast<uint32_t>(left.length);
  for (size_t i = 0; i < rows.size();) {
    const uint32_t first = rows[i];
    const bool of_older = first < left_rows;
    size_t end = i + 1;
    while (end < rows.size() && rows[end] == first + (end - i) &&
           (rows[end] < left_rows) == of_older) {
      ++end;
    }
    TL_RETURN_NOT_OK(builder->AppendArraySlice(of_older ? left : right,
                                               of_older ? first : first - left_rows,
                                               static_cast<int64_t>(end - i)));
    i = end;
  }
  return builder->Finish();
}

// Column by column, so that no more than one is there twice.
Result<Batch> Merge(const Target& target, Batch older, Batch newer) {
  TL_ASSIGN_OR_RAISE(const auto rows, PlanMerge(target, *older, *newer));
  const auto schema = older->schema();
  arrow::ArrayVector left = older->columns(), right = newer->columns(), columns;
  older.reset();
  newer.reset();
  for (size_t i = 0; i < left.size(); ++i) {
    TL_ASSIGN_OR_RAISE(columns.emplace_back(),
                       MergeColumn(std::move(left[i]), std::move(right[i]), rows));
  }
  return arrow::RecordBatch::Make(schema, static_cast<int64_t>(rows.size()), std::move(columns));
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const Target& target, const Rows& rows,
                                                     const std::vector<uint32_t>& positions) {
  const int64_t count = static_cast<int64_t>(positions.size());
  TL_ASSIGN_OR_RAISE(auto columns,
                     GatherAll(rows, {&positions, 0, count, false}, [](size_t) { return false; }));
  return arrow::RecordBatch::Make(iceberg::ToArrow(target.schema), count, std::move(columns));
}

Status NewestRows::Add(std::shared_ptr<arrow::RecordBatch> part) {
  if (part->num_rows() == 0) return Status::OK();
  held_rows_ += part->num_rows();
  held_.push_back(std::move(part));
  const int64_t reduced = held_.front()->num_rows();
  return held_.size() > 1 && held_rows_ > std::max(kHeldRows, 2 * reduced) ? Reduce()
                                                                           : Status::OK();
}

Status NewestRows::Reduce() {
  if (held_rows_ > kManyRows) ReturnUnusedMemory();
  // What came since first, so that what was before is copied once.
  std::vector<Batch> later(std::make_move_iterator(held_.begin() + 1),
                           std::make_move_iterator(held_.end()));
  held_.resize(1);
  while (later.size() > 1) {
    std::vector<Batch> merged;
    for (size_t i = 0; i + 1 < later.size(); i += 2) {
      TL_ASSIGN_OR_RAISE(merged.emplace_back(),
                         Merge(*target_, std::move(later[i]), std::move(later[i + 1])));
    }
    if (later.size() % 2 != 0) merged.push_back(std::move(later.back()));
    later = std::move(merged);
  }
  if (!later.empty()) {
    TL_ASSIGN_OR_RAISE(held_.front(),
                       Merge(*target_, std::move(held_.front()), std::move(later.front())));
  }
  held_rows_ = held_.front()->num_rows();
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> NewestRows::Finish() {
  if (held_.empty()) return arrow::RecordBatch::MakeEmpty(iceberg::ToArrow(target_->schema));
  if (held_.size() > 1) TL_RETURN_NOT_OK(Reduce());
  return held_.front();
}

}  // namespace timelake::write

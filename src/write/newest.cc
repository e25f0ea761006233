#include "write/newest.h"

#include <utility>

#include "iceberg/arrow_schema.h"
#include "write/gather.h"
#include "write/sort.h"

namespace timelake::write {
namespace {

// Fewer rows are not worth a pass.
constexpr int64_t kHeldRows = 1 << 18;

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
  TL_ASSIGN_OR_RAISE(const Rows rows, Combine(*target_, std::move(held_), threads_));
  TL_ASSIGN_OR_RAISE(const Arrangement arrangement, ArrangeRows(*target_, rows));
  held_.clear();
  TL_ASSIGN_OR_RAISE(held_.emplace_back(), TakeRows(*target_, rows, arrangement.newest));
  held_rows_ = held_.front()->num_rows();
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> NewestRows::Finish() {
  if (held_.empty()) return arrow::RecordBatch::MakeEmpty(iceberg::ToArrow(target_->schema));
  if (held_.size() > 1) TL_RETURN_NOT_OK(Reduce());
  return held_.front();
}

}  // namespace timelake::write

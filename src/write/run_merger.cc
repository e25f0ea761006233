#include "write/run_merger.h"

#include <algorithm>
#include <utility>

#include <arrow/util/byte_size.h>

#include "write/newest.h"

namespace timelake::write {

RunMerger::RunMerger(const Target* target,
                     std::vector<std::shared_ptr<arrow::RecordBatchReader>> runs, int64_t memory,
                     int threads)
    : target_(target), order_(OrderColumns(*target)), memory_(memory), threads_(threads) {
  for (auto& reader : runs) runs_.push_back({std::move(reader), {}, 0});
}

// Every run that goes on has its share of the memory.
Status RunMerger::Load() {
  const auto going = std::count_if(runs_.begin(), runs_.end(),
                                   [](const Run& run) { return run.reader != nullptr; });
  for (Run& run : runs_) {
    while (run.reader != nullptr && (run.loaded.empty() || run.loaded_bytes < memory_ / going)) {
      std::shared_ptr<arrow::RecordBatch> batch;
      TL_RETURN_NOT_OK(run.reader->ReadNext(&batch));
      if (batch == nullptr) {
        run.reader.reset();
      } else if (batch->num_rows() > 0) {
        run.loaded_bytes += arrow::util::TotalBufferSize(*batch);
        run.loaded.push_back(std::move(batch));
      }
    }
  }
  return Status::OK();
}

Result<std::optional<RunMerger::Bound>> RunMerger::FindBound() const {
  std::optional<Bound> bound;
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i].reader == nullptr) continue;
    const auto& last = runs_[i].loaded.back();
    if (bound) {
      TL_ASSIGN_OR_RAISE(const auto comparer,
                         RowComparer::Make(last->columns(), bound->batch->columns(), order_));
      if (comparer.Compare(last->num_rows() - 1, bound->row) >= 0) continue;
    }
    bound = Bound{i, last, last->num_rows() - 1};
  }
  return bound;
}

// Rows equal to the bound: those of earlier runs come before the rest of the bound's own run, which
// may go on with equal ones; those of later runs come after it.
Status RunMerger::TakeUpTo(const Bound& bound, size_t number, Batches* taken) {
  Run& run = runs_[number];
  while (!run.loaded.empty()) {
    const std::shared_ptr<arrow::RecordBatch> batch = run.loaded.front();
    TL_ASSIGN_OR_RAISE(const auto comparer,
                       RowComparer::Make(batch->columns(), bound.batch->columns(), order_));
    int64_t low = 0, high = batch->num_rows();
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const int order = comparer.Compare(middle, bound.row);
      if (order < 0 || (order == 0 && number <= bound.run)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low > 0) taken->push_back(batch->Slice(0, low));
    if (low < batch->num_rows()) {
      if (low > 0) run.loaded.front() = batch->Slice(low);
      return Status::OK();
    }
    run.loaded_bytes -= arrow::util::TotalBufferSize(*batch);
    run.loaded.pop_front();
  }
  run.loaded_bytes = 0;
  return Status::OK();
}

Result<RunMerger::Batches> RunMerger::TakeReady(bool* last) {
  TL_RETURN_NOT_OK(Load());
  Batches taken;
  if (held_back_ != nullptr) taken.push_back(std::exchange(held_back_, nullptr));
  TL_ASSIGN_OR_RAISE(const auto bound, FindBound());
  *last = !bound.has_value();
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (bound) {
      TL_RETURN_NOT_OK(TakeUpTo(*bound, i, &taken));
      continue;
    }
    for (auto& batch : runs_[i].loaded) taken.push_back(std::move(batch));
    runs_[i].loaded.clear();
  }
  return taken;
}

Status RunMerger::HoldBackLast(Chunk* chunk) {
  std::vector<uint32_t>& order = chunk->arrangement.order;
  TL_ASSIGN_OR_RAISE(held_back_,
                     TakeRows(*target_, chunk->rows, std::vector<uint32_t>{order.back()}));
  order.pop_back();
  --chunk->arrangement.partitions.back().end;
  return Status::OK();
}

Result<std::optional<RunMerger::Chunk>> RunMerger::Next() {
  while (true) {
    bool last = false;
    TL_ASSIGN_OR_RAISE(Batches ready, TakeReady(&last));
    if (ready.empty()) return std::nullopt;
    Chunk chunk;
    TL_ASSIGN_OR_RAISE(chunk.rows, Combine(*target_, std::move(ready), threads_));
    TL_ASSIGN_OR_RAISE(chunk.arrangement, ArrangeRows(*target_, chunk.rows));
    duplicates_ += chunk.arrangement.duplicates;
    if (chunk.arrangement.partitions.size() != 1) {
      return InternalError("a run has rows of {} partitions", chunk.arrangement.partitions.size());
    }
    if (target_->contract.dedup && !last) TL_RETURN_NOT_OK(HoldBackLast(&chunk));
    if (!chunk.arrangement.order.empty()) return chunk;
  }
}

}  // namespace timelake::write

#include "sql/result_queue.h"

#include <limits>
#include <utility>

namespace timelake::sql {

namespace {

// Enough for the threads to go on while the reader works on a batch.
constexpr int64_t kReadyBytes = 8 << 20;
// Of parts that wait for an earlier one. A thread may be a whole part ahead of another.
constexpr int64_t kLaterBytes = 32 << 20;
// Parts may be small; up to so many rows of them go together.
constexpr int64_t kSmallRows = 16384;

void CallBack(const std::vector<duckdb::InterruptState>& waiting) {
  for (const duckdb::InterruptState& state : waiting) state.Callback();
}

}  // namespace

ResultQueue::Admission ResultQueue::Admit(uint64_t part, const duckdb::InterruptState& waiting) {
  const std::lock_guard lock(mutex_);
  if (closed_) return Admission::kClosed;
  const bool full = part <= first_open_ ? ready_bytes_ >= kReadyBytes : later_bytes_ >= kLaterBytes;
  if (!full) return Admission::kYes;
  large_ = true;
  waiting_.push_back(waiting);
  return Admission::kWait;
}

void ResultQueue::Push(uint64_t part, std::shared_ptr<arrow::RecordBatch> batch, int64_t bytes,
                       bool full) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  if (full) large_ = true;
  if (part <= first_open_) {
    ready_.push_back({std::move(batch), bytes});
    ready_bytes_ += bytes;
    arrived_.notify_one();
  } else {
    later_[part].push_back({std::move(batch), bytes});
    later_bytes_ += bytes;
  }
}

void ResultQueue::Advance(uint64_t first_open) {
  std::vector<duckdb::InterruptState> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (first_open <= first_open_) return;
    first_open_ = first_open;
    for (auto part = later_.begin(); part != later_.end() && part->first <= first_open;) {
      for (Entry& entry : part->second) {
        later_bytes_ -= entry.bytes;
        ready_bytes_ += entry.bytes;
        ready_.push_back(std::move(entry));
      }
      part = later_.erase(part);
    }
    if (!ready_.empty()) arrived_.notify_one();
    waiting = TakeWaiting();
  }
  CallBack(waiting);
}

void ResultQueue::AdvanceToEnd() { Advance(std::numeric_limits<uint64_t>::max()); }

std::vector<std::shared_ptr<arrow::RecordBatch>> ResultQueue::Pop() {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  std::vector<duckdb::InterruptState> waiting;
  {
    const std::lock_guard lock(mutex_);
    for (int64_t rows = 0; !ready_.empty(); batches.push_back(PopOne())) {
      const int64_t more = ready_.front().batch->num_rows();
      if (rows > 0 && rows + more > kSmallRows) break;
      rows += more;
    }
    if (ready_bytes_ <= kReadyBytes / 2) waiting = TakeWaiting();
  }
  CallBack(waiting);
  return batches;
}

std::shared_ptr<arrow::RecordBatch> ResultQueue::PopOne() {
  Entry entry = std::move(ready_.front());
  ready_.pop_front();
  ready_bytes_ -= entry.bytes;
  return std::move(entry.batch);
}

void ResultQueue::WaitForBatch(std::chrono::microseconds at_most) {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, at_most, [this] { return !ready_.empty(); });
}

bool ResultQueue::large() const {
  const std::lock_guard lock(mutex_);
  return large_;
}

int64_t ResultQueue::bytes() const {
  const std::lock_guard lock(mutex_);
  return ready_bytes_ + later_bytes_;
}

void ResultQueue::Close() {
  std::vector<duckdb::InterruptState> waiting;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    ready_.clear();
    later_.clear();
    ready_bytes_ = later_bytes_ = 0;
    waiting = TakeWaiting();
  }
  CallBack(waiting);
}

std::vector<duckdb::InterruptState> ResultQueue::TakeWaiting() {
  return std::exchange(waiting_, {});
}

}  // namespace timelake::sql

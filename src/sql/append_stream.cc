#include "sql/append_stream.h"

#include <chrono>
#include <exception>
#include <utility>

namespace timelake::sql {

namespace {

// Batches between the query and the append. Each is some megabytes at most.
constexpr size_t kMostBatches = 4;
constexpr std::chrono::milliseconds kPoll{20};

Status Stopped() { return MakeError(ErrorKind::kCancelled, "the query was cancelled"); }

}  // namespace

class AppendStream::Reader : public arrow::RecordBatchReader {
 public:
  explicit Reader(AppendStream* stream) : stream_(stream) {}

  std::shared_ptr<arrow::Schema> schema() const override { return stream_->schema_; }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    return stream_->Pull(batch);
  }

 private:
  AppendStream* const stream_;
};

AppendStream::AppendStream(std::shared_ptr<arrow::Schema> schema, Append append,
                           std::function<bool()> interrupted)
    : schema_(std::move(schema)),
      append_(std::move(append)),
      interrupted_(std::move(interrupted)),
      thread_([this] { Run(); }) {}

AppendStream::~AppendStream() {
  if (!thread_.joinable()) return;
  Abort();
  thread_.join();
}

void AppendStream::Abort() {
  std::lock_guard lock(mutex_);
  aborted_ = true;
  changed_.notify_all();
}

void AppendStream::Run() {
  Reader reader(this);
  const auto cancelled = [this] {
    std::lock_guard lock(mutex_);
    return aborted_;
  };
  Result<AppendResult> result = InternalError("no append");
  try {
    result = append_(&reader, cancelled);
  } catch (const std::exception& e) {  // out of memory: it must not leave the thread
    result = IoError("the append failed: {}", e.what());
  }
  std::lock_guard lock(mutex_);
  status_ = result.status();
  if (result.ok()) result_ = *result;
  ended_ = true;
  batches_.clear();
  changed_.notify_all();
}

Status AppendStream::Pull(std::shared_ptr<arrow::RecordBatch>* batch) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return aborted_ || complete_ || !batches_.empty(); });
  batch->reset();
  if (aborted_) return Stopped();
  if (batches_.empty()) return Status::OK();
  *batch = std::move(batches_.front());
  batches_.pop_front();
  changed_.notify_all();
  return Status::OK();
}

Status AppendStream::Push(std::shared_ptr<arrow::RecordBatch> batch) {
  std::unique_lock lock(mutex_);
  while (batches_.size() >= kMostBatches && !ended_) {
    changed_.wait_for(lock, kPoll);
    lock.unlock();
    const bool stop = interrupted_();
    lock.lock();
    if (stop) return Stopped();
  }
  // Before the end of the rows only a failure ends an append.
  if (ended_) return status_.ok() ? InternalError("an append ended early") : status_;
  rows_ += batch->num_rows();
  batches_.push_back(std::move(batch));
  changed_.notify_all();
  return Status::OK();
}

Result<AppendResult> AppendStream::Finish() {
  {
    std::unique_lock lock(mutex_);
    complete_ = true;
    changed_.notify_all();
    while (!ended_) {
      changed_.wait_for(lock, kPoll);
      lock.unlock();
      const bool stop = interrupted_();
      lock.lock();
      if (stop) aborted_ = true;
    }
  }
  thread_.join();
  TL_RETURN_NOT_OK(status_);
  return result_;
}

int64_t AppendStream::rows() const {
  std::lock_guard lock(mutex_);
  return rows_;
}

}  // namespace timelake::sql

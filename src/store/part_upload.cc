#include "store/part_upload.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <arrow/buffer_builder.h>

namespace timelake::store {
namespace {

constexpr int64_t kPartBytes = int64_t{8} << 20;

class PartUpload : public arrow::io::OutputStream {
 public:
  explicit PartUpload(std::unique_ptr<PartTarget> target) : target_(std::move(target)) {}
  ~PartUpload() override { (void)Abort(); }

  using arrow::io::OutputStream::Write;
  Status Write(const void* data, int64_t size) override;
  Result<int64_t> Tell() const override { return written_; }
  Status Close() override;
  Status Abort() override;
  bool closed() const override { return closed_; }

 private:
  Status SendPart(bool last);
  Status Finish();
  void Drop();
  void Join();

  const std::unique_ptr<PartTarget> target_;
  arrow::BufferBuilder part_;
  int64_t written_ = 0;
  int64_t sent_ = 0;
  size_t parts_ = 0;
  bool begun_ = false;
  bool closed_ = false;
  std::vector<std::thread> threads_;

  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0;
  Status failed_;  // the first failure of a part
};

Status PartUpload::Write(const void* data, int64_t size) {
  if (closed_) return InvalidArgument("write to a closed stream");
  const auto* bytes = static_cast<const uint8_t*>(data);
  while (size > 0) {
    // A full part waits until more comes: some stores must be told which one is the last.
    if (part_.length() == kPartBytes) TL_RETURN_NOT_OK(SendPart(false));
    const int64_t piece = std::min(size, kPartBytes - part_.length());
    TL_RETURN_NOT_OK(part_.Append(bytes, piece));
    bytes += piece;
    size -= piece;
    written_ += piece;
  }
  return Status::OK();
}

Status PartUpload::SendPart(bool last) {
  if (!begun_) TL_RETURN_NOT_OK(target_->Begin());
  begun_ = true;
  PartTarget::Part part{parts_, sent_, last, nullptr};
  TL_ASSIGN_OR_RAISE(part.bytes, part_.Finish());
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return running_ < target_->parallel(); });
  if (!failed_.ok()) return failed_;
  if (parts_ == target_->max_parts()) {
    return IoError("{}: larger than the {} parts of {} MiB that an upload may have",
                   target_->place(), parts_, kPartBytes >> 20);
  }
  ++parts_;
  sent_ += part.bytes->size();
  ++running_;
  threads_.emplace_back([this, part = std::move(part)] {
    Status status = target_->Send(part);
    const std::lock_guard inner(mutex_);
    if (failed_.ok()) failed_ = std::move(status);
    --running_;
    changed_.notify_all();
  });
  return Status::OK();
}

void PartUpload::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

Status PartUpload::Close() {
  if (closed_) return Status::OK();
  closed_ = true;
  const Status status = Finish();
  if (!status.ok()) Drop();
  return status;
}

Status PartUpload::Finish() {
  if (!begun_) {
    TL_ASSIGN_OR_RAISE(auto whole, part_.Finish());
    return target_->PutWhole(std::move(whole));
  }
  TL_RETURN_NOT_OK(SendPart(true));
  Join();
  TL_RETURN_NOT_OK(failed_);
  return target_->Complete(parts_, written_);
}

void PartUpload::Drop() {
  Join();
  part_.Reset();
  if (std::exchange(begun_, false)) target_->Drop();
}

Status PartUpload::Abort() {
  if (closed_) return Status::OK();
  closed_ = true;
  Drop();
  return Status::OK();
}

}  // namespace

std::shared_ptr<arrow::io::OutputStream> MakePartUpload(std::unique_ptr<PartTarget> target) {
  return std::make_shared<PartUpload>(std::move(target));
}

}  // namespace timelake::store

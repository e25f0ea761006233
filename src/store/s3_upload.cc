#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <arrow/buffer_builder.h>
#include <fmt/format.h>

#include "store/s3_stream.h"
#include "store/s3_xml.h"

namespace timelake::store {
namespace {

constexpr int64_t kPartBytes = int64_t{8} << 20;
constexpr int kParallelParts = 4;
constexpr size_t kMaxParts = 10'000;  // of the protocol

class S3Upload : public arrow::io::OutputStream {
 public:
  S3Upload(std::shared_ptr<S3Client> client, S3Key key)
      : client_(std::move(client)), key_(std::move(key)) {}
  ~S3Upload() override { (void)Abort(); }

  using arrow::io::OutputStream::Write;
  Status Write(const void* data, int64_t size) override;
  Result<int64_t> Tell() const override { return written_; }
  Status Close() override;
  Status Abort() override;
  bool closed() const override { return closed_; }

 private:
  S3Request Request(const char* method) const {
    S3Request request;
    request.method = method;
    request.bucket = key_.bucket;
    request.key = key_.name;
    return request;
  }
  Status Begin();
  Status SendPart();
  void Upload(size_t index, std::shared_ptr<arrow::Buffer> bytes);
  Status Finish();
  Status PutWhole();
  Status Complete();
  Status SettledBySize(const S3Request& complete, const HttpReply& reply);
  void Drop();
  void Join();

  const std::shared_ptr<S3Client> client_;
  const S3Key key_;
  arrow::BufferBuilder part_;
  int64_t written_ = 0;
  bool closed_ = false;
  std::string upload_id_;  // empty: not begun
  std::vector<std::thread> threads_;

  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0;
  Status failed_;  // the first failure of a part
  std::vector<std::string> etags_;
};

Status S3Upload::Write(const void* data, int64_t size) {
  if (closed_) return InvalidArgument("write to a closed stream");
  const auto* bytes = static_cast<const uint8_t*>(data);
  while (size > 0) {
    const int64_t piece = std::min(size, kPartBytes - part_.length());
    TL_RETURN_NOT_OK(part_.Append(bytes, piece));
    bytes += piece;
    size -= piece;
    written_ += piece;
    if (part_.length() == kPartBytes) TL_RETURN_NOT_OK(SendPart());
  }
  return Status::OK();
}

Status S3Upload::Begin() {
  S3Request request = Request("POST");
  request.query = {{"uploads", ""}};
  request.body = arrow::Buffer::FromString("");
  TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(request));
  if (reply.status != 200) return client_->Refused(request, reply);
  upload_id_ = FirstElement(reply.text(), "UploadId");
  if (upload_id_.empty()) {
    return IoError("{}: the store's answer to a new upload names none", request.Place());
  }
  return Status::OK();
}

Status S3Upload::SendPart() {
  if (upload_id_.empty()) TL_RETURN_NOT_OK(Begin());
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes, part_.Finish());
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return running_ < kParallelParts; });
  if (!failed_.ok()) return failed_;
  const size_t index = etags_.size();
  if (index == kMaxParts) {
    return IoError("s3://{}/{}: larger than the {} parts of {} MiB that an upload may have",
                   key_.bucket, key_.name, kMaxParts, kPartBytes >> 20);
  }
  etags_.emplace_back();
  ++running_;
  threads_.emplace_back([this, index, bytes = std::move(bytes)] { Upload(index, bytes); });
  return Status::OK();
}

void S3Upload::Upload(size_t index, std::shared_ptr<arrow::Buffer> bytes) {
  S3Request request = Request("PUT");
  request.query = {{"partNumber", std::to_string(index + 1)}, {"uploadId", upload_id_}};
  request.body = std::move(bytes);
  auto reply = client_->Send(request);
  Status status = reply.status();
  std::string etag;
  if (status.ok() && reply->status != 200) status = client_->Refused(request, *reply);
  if (status.ok()) etag = reply->Header("etag");
  if (status.ok() && etag.empty()) {
    status = IoError("{}: the store's answer to a part has no ETag", request.Place());
  }
  const std::lock_guard lock(mutex_);
  if (failed_.ok()) failed_ = std::move(status);
  etags_[index] = std::move(etag);
  --running_;
  changed_.notify_all();
}

void S3Upload::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

Status S3Upload::Close() {
  if (closed_) return Status::OK();
  closed_ = true;
  const Status status = Finish();
  if (!status.ok()) Drop();
  return status;
}

Status S3Upload::Finish() {
  if (upload_id_.empty() && written_ < kPartBytes) return PutWhole();
  if (part_.length() > 0) TL_RETURN_NOT_OK(SendPart());
  Join();
  TL_RETURN_NOT_OK(failed_);
  TL_RETURN_NOT_OK(Complete());
  upload_id_.clear();
  return Status::OK();
}

Status S3Upload::PutWhole() {
  S3Request request = Request("PUT");
  TL_ASSIGN_OR_RAISE(request.body, part_.Finish());
  TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(request));
  return reply.status == 200 ? Status::OK() : client_->Refused(request, reply);
}

Status S3Upload::Complete() {
  S3Request request = Request("POST");
  request.query = {{"uploadId", upload_id_}};
  request.headers = {{"content-type", "application/xml"}};
  request.body = arrow::Buffer::FromString(CompleteUploadXml(etags_));
  TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(request));
  const S3Error error = ParseS3Error(reply.text());  // also with status 200
  if (reply.status == 200 && error.code.empty()) return Status::OK();
  if (error.code == "NoSuchUpload") return SettledBySize(request, reply);
  return client_->Refused(request, reply);
}

// An earlier sending of the same request, whose reply was lost, may have completed the upload.
Status S3Upload::SettledBySize(const S3Request& complete, const HttpReply& reply) {
  const S3Request head = Request("HEAD");
  TL_ASSIGN_OR_RAISE(const HttpReply found, client_->Send(head));
  const std::string parts = fmt::format("-{}\"", etags_.size());
  const bool same = found.status == 200 && found.Header("etag").ends_with(parts) &&
                    found.Header("content-length") == std::to_string(written_);
  return same ? Status::OK() : client_->Refused(complete, reply);
}

void S3Upload::Drop() {
  Join();
  part_.Reset();
  if (upload_id_.empty()) return;
  S3Request request = Request("DELETE");
  request.query = {{"uploadId", std::exchange(upload_id_, "")}};
  (void)client_->Send(request);  // else the store's own rule for unfinished uploads removes it
}

Status S3Upload::Abort() {
  if (closed_) return Status::OK();
  closed_ = true;
  Drop();
  return Status::OK();
}

}  // namespace

std::shared_ptr<arrow::io::OutputStream> MakeS3Upload(std::shared_ptr<S3Client> client, S3Key key) {
  return std::make_shared<S3Upload>(std::move(client), std::move(key));
}

}  // namespace timelake::store

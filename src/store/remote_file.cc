#include "store/remote_file.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include <fmt/format.h>

#include "base/text.h"

namespace timelake::store {
namespace {

class RemoteFile : public arrow::io::RandomAccessFile {
 public:
  RemoteFile(std::shared_ptr<RemoteClient> client, RemoteRequest get, int64_t size)
      : client_(std::move(client)), get_(std::move(get)), size_(size) {}

  Status Close() override {
    closed_ = true;
    return Status::OK();
  }
  bool closed() const override { return closed_; }
  Result<int64_t> Tell() const override { return position_; }
  Status Seek(int64_t position) override {
    if (position < 0) return InvalidArgument("seek to {}", position);
    position_ = position;
    return Status::OK();
  }
  Result<int64_t> GetSize() override { return size_; }

  Result<int64_t> Read(int64_t bytes, void* out) override {
    TL_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position_, bytes, out));
    position_ += read;
    return read;
  }
  Result<std::shared_ptr<arrow::Buffer>> Read(int64_t bytes) override {
    TL_ASSIGN_OR_RAISE(auto read, ReadAt(position_, bytes));
    position_ += read->size();
    return read;
  }
  Result<int64_t> ReadAt(int64_t position, int64_t bytes, void* out) override {
    TL_ASSIGN_OR_RAISE(const auto read, ReadAt(position, bytes));
    std::memcpy(out, read->data(), static_cast<size_t>(read->size()));
    return read->size();
  }
  Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t bytes) override;

 private:
  const std::shared_ptr<RemoteClient> client_;
  const RemoteRequest get_;
  const int64_t size_;
  std::atomic<bool> closed_ = false;
  int64_t position_ = 0;
};

Result<std::shared_ptr<arrow::Buffer>> RemoteFile::ReadAt(int64_t position, int64_t bytes) {
  if (closed_) return InvalidArgument("read from a closed file");
  if (position < 0 || bytes < 0) return InvalidArgument("read {} bytes at {}", bytes, position);
  bytes = std::min(bytes, std::max<int64_t>(0, size_ - position));
  if (bytes == 0) return arrow::Buffer::FromString("");
  RemoteRequest request = get_;
  request.headers.emplace_back("range", fmt::format("bytes={}-{}", position, position + bytes - 1));
  TL_ASSIGN_OR_RAISE(HttpReply reply, client_->Send(request));
  if (reply.status == 404) return NotFound("{}: no such object", request.place);
  if (reply.status == 200 && reply.body->size() >= position + bytes) {  // ignores ranges
    return arrow::SliceBuffer(reply.body, position, bytes);
  }
  if (reply.status != 206) return client_->Refused(request, reply);
  if (reply.body->size() != bytes ||
      !reply.Header("content-range").starts_with(fmt::format("bytes {}-", position))) {
    return IoError("{}: asked for {} bytes at {}, the store answered {} ({})", request.place, bytes,
                   position, reply.body->size(), Quote(reply.Header("content-range")));
  }
  return std::move(reply.body);
}

}  // namespace

std::shared_ptr<arrow::io::RandomAccessFile> MakeRemoteFile(std::shared_ptr<RemoteClient> client,
                                                            RemoteRequest get, int64_t size) {
  return std::make_shared<RemoteFile>(std::move(client), std::move(get), size);
}

}  // namespace timelake::store

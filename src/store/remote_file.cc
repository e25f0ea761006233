#include "store/remote_file.h"

#include <fmt/format.h>

#include "base/text.h"
#include "store/ranged_file.h"

namespace timelake::store {
namespace {

class RemoteFile : public RangedFile {
 public:
  RemoteFile(std::shared_ptr<RemoteClient> client, RemoteRequest get, int64_t size)
      : RangedFile(size), client_(std::move(client)), get_(std::move(get)) {}

  Result<std::shared_ptr<arrow::Buffer>> ReadRange(int64_t position, int64_t bytes) override;

 private:
  const std::shared_ptr<RemoteClient> client_;
  const RemoteRequest get_;
};

Result<std::shared_ptr<arrow::Buffer>> RemoteFile::ReadRange(int64_t position, int64_t bytes) {
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

#include "store/remote_error.h"
#include "store/remote_file.h"
#include "store/remote_store.h"

namespace timelake::store {

Result<ObjectName> SplitKey(const std::string& key) {
  const size_t slash = key.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == key.size()) {
    return InvalidArgument("'{}' is no key: bucket/name", key);
  }
  return ObjectName{key.substr(0, slash), key.substr(slash + 1)};
}

bool IsMissing(const HttpReply& reply) {
  return reply.status == 404 && !ParseRemoteError(reply).NoBucket();
}

Result<int64_t> RemoteReader::DateOf(const RemoteRequest& request, const HttpReply& reply) const {
  auto date = RemoteClient::DateOf(request, reply);
  if (!date.ok() && !api_->needs_date()) return client_->clock().NowMicros();
  return date;
}

Result<GetReply> RemoteReader::Get(const std::string& key) const {
  TL_ASSIGN_OR_RAISE(const ObjectName object, SplitKey(key));
  const RemoteRequest request = api_->Get(object);
  TL_ASSIGN_OR_RAISE(HttpReply http, client_->Send(request));
  GetReply reply;
  reply.info.key = key;
  TL_ASSIGN_OR_RAISE(reply.date_us, DateOf(request, http));
  if (IsMissing(http)) return reply;
  if (http.status != 200) return client_->Refused(request, http, api_->HintOf(http));
  auto info = api_->InfoOf(request, http);
  if (!info.ok()) return WithContext(info.status(), request.place);
  reply.info = *std::move(info);
  reply.info.key = key;
  reply.info.size = http.body->size();
  reply.bytes = std::move(http.body);
  reply.found = true;
  return reply;
}

Result<HeadReply> RemoteReader::Head(const std::string& key) const {
  TL_ASSIGN_OR_RAISE(const ObjectName object, SplitKey(key));
  const RemoteRequest request = api_->Head(object);
  TL_ASSIGN_OR_RAISE(const HttpReply http, client_->Send(request));
  HeadReply reply;
  reply.info.key = key;
  TL_ASSIGN_OR_RAISE(reply.date_us, DateOf(request, http));
  if (IsMissing(http)) return reply;
  if (http.status != 200) return client_->Refused(request, http, api_->HintOf(http));
  auto info = api_->InfoOf(request, http);
  if (!info.ok()) return WithContext(info.status(), request.place);
  reply.info = *std::move(info);
  if (reply.info.size < 0) return IoError("{}: the store does not tell its size", request.place);
  reply.info.key = key;
  reply.found = true;
  return reply;
}

Result<std::shared_ptr<arrow::io::RandomAccessFile>> RemoteReader::OpenRead(
    const std::string& key, const std::string& uri, std::optional<int64_t> size) const {
  TL_ASSIGN_OR_RAISE(const ObjectName object, SplitKey(key));
  if (!size) {
    TL_ASSIGN_OR_RAISE(const HeadReply head, Head(key));
    if (!head.found) return NotFound("{}: no such object", uri);
    size = head.info.size;
  }
  return MakeRemoteFile(client_, api_->Get(object), *size);
}

}  // namespace timelake::store

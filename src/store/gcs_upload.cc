#include <fmt/format.h>

#include "base/civil_time.h"
#include "base/text.h"
#include "store/gcs_api.h"
#include "store/remote_error.h"

namespace timelake::store {
namespace {

// A resumable upload: parts in their order, to a session that the store names.
class GcsUpload : public PartTarget {
 public:
  GcsUpload(std::shared_ptr<const GcsApi> api, std::shared_ptr<RemoteClient> client,
            ObjectName object)
      : api_(std::move(api)), client_(std::move(client)), object_(std::move(object)) {}

  std::string place() const override { return api_->Get(object_).place; }
  int parallel() const override { return 1; }
  size_t max_parts() const override { return 600'000; }  // of 8 MiB: 5 TiB, the largest object

  Status PutWhole(std::shared_ptr<arrow::Buffer> bytes) override {
    const RemoteRequest request = api_->Put(object_, std::move(bytes));
    TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(request));
    return reply.status == 200 ? Status::OK() : client_->Refused(request, reply);
  }
  Status Begin() override;
  Status Send(const Part& part) override;
  Status Complete(size_t /*parts*/, int64_t /*bytes*/) override { return Status::OK(); }
  void Drop() override {
    RemoteRequest request = session_;
    request.method = "DELETE";
    (void)client_->Send(request);  // else the session ends by itself after a week
  }

 private:
  // The last part was sent before, and its reply was lost; then the session may be gone.
  Result<bool> IsThere(int64_t bytes);

  const std::shared_ptr<const GcsApi> api_;
  const std::shared_ptr<RemoteClient> client_;
  const ObjectName object_;
  RemoteRequest session_;
  int64_t began_us_ = 0;  // the store's time
};

Status GcsUpload::Begin() {
  const RemoteRequest request = api_->Resumable(object_);
  TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(request));
  if (reply.status != 200) return client_->Refused(request, reply);
  TL_ASSIGN_OR_RAISE(began_us_, RemoteClient::DateOf(request, reply));
  // Only path and query: the token goes to no other host than ours.
  const std::string location = reply.Header("location");
  const size_t scheme = location.find("://");
  const size_t path = location.find('/', scheme == std::string::npos ? 0 : scheme + 3);
  const size_t query = location.find('?');
  if (path == std::string::npos || query == std::string::npos || query < path) {
    return IoError("{}: the store's answer to a new upload names none", request.place);
  }
  session_ = api_->Request("PUT", object_, "");
  session_.path = location.substr(path, query - path);
  std::string_view rest = std::string_view(location).substr(query + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    const size_t equals = pair.find('=');
    session_.query.emplace_back(
        UriDecode(pair.substr(0, equals)),
        equals == std::string_view::npos ? "" : UriDecode(pair.substr(equals + 1)));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
  }
  return Status::OK();
}

Status GcsUpload::Send(const Part& part) {
  const int64_t end = part.offset + part.bytes->size();
  int64_t from = part.offset;
  while (true) {
    RemoteRequest request = session_;
    request.headers = {{"content-range", fmt::format("bytes {}-{}/{}", from, end - 1,
                                                     part.last ? std::to_string(end) : "*")}};
    request.body = arrow::SliceBuffer(part.bytes, from - part.offset);
    TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(request));
    if (part.last && reply.status / 100 == 2) return Status::OK();
    if (part.last && (reply.status == 404 || reply.status == 410)) {
      TL_ASSIGN_OR_RAISE(const bool there, IsThere(end));
      if (there) return Status::OK();
    }
    if (reply.status != 308) return client_->Refused(request, reply);
    // "bytes=0-8388607": what the store has so far; no header: nothing.
    const std::string range = reply.Header("range");
    const auto last = ParseInt64(range.substr(std::min(range.size(), range.find('-') + 1)));
    const int64_t stored = last.ok() ? *last + 1 : 0;
    if (stored == end && !part.last) return Status::OK();
    if (stored <= from || stored >= end) {
      return IoError("{}: sent the bytes {} to {}, and the store has {} ({})", request.place, from,
                     end, stored, Quote(range));
    }
    from = stored;  // the rest again
  }
}

Result<bool> GcsUpload::IsThere(int64_t bytes) {
  const RemoteRequest head = api_->Head(object_);
  TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(head));
  if (reply.status != 200) return false;
  const auto info = api_->InfoOf(head, reply);
  return info.ok() && info->size == bytes && info->mtime_us >= began_us_;
}

}  // namespace

std::unique_ptr<PartTarget> GcsApi::Upload(std::shared_ptr<RemoteClient> client,
                                           const ObjectName& object) const {
  return std::make_unique<GcsUpload>(shared_from_this(), std::move(client), object);
}

}  // namespace timelake::store

#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "store/remote_error.h"
#include "store/s3_api.h"
#include "store/s3_xml.h"

namespace timelake::store {
namespace {

class S3Upload : public PartTarget {
 public:
  S3Upload(std::shared_ptr<const S3Api> api, std::shared_ptr<RemoteClient> client,
           ObjectName object)
      : api_(std::move(api)), client_(std::move(client)), object_(std::move(object)) {}

  std::string place() const override { return Request("PUT").place; }
  int parallel() const override { return 4; }
  size_t max_parts() const override { return 10'000; }  // of the protocol

  Status PutWhole(std::shared_ptr<arrow::Buffer> bytes) override {
    const RemoteRequest request = api_->Put(object_, std::move(bytes));
    return Done(request, client_->Send(request));
  }
  Status Begin() override;
  Status Send(const Part& part) override;
  Status Complete(size_t parts, int64_t bytes) override;
  void Drop() override {
    RemoteRequest request = Request("DELETE");
    request.query = {{"uploadId", upload_id_}};
    (void)client_->Send(request);  // else the store's own rule for unfinished uploads removes it
  }

 private:
  RemoteRequest Request(const char* method) const {
    return api_->Request(method, object_.bucket, object_.name);
  }
  Status Done(const RemoteRequest& request, const Result<HttpReply>& reply) const {
    TL_RETURN_NOT_OK(reply.status());
    if (reply->status == 200) return Status::OK();
    return client_->Refused(request, *reply, api_->HintOf(*reply));
  }
  // An earlier sending of the same request, whose reply was lost, may have completed the upload.
  Result<bool> IsThere(int64_t bytes);

  const std::shared_ptr<const S3Api> api_;
  const std::shared_ptr<RemoteClient> client_;
  const ObjectName object_;
  std::string upload_id_;
  std::mutex mutex_;
  std::vector<std::string> etags_;
};

Status S3Upload::Begin() {
  RemoteRequest request = Request("POST");
  request.query = {{"uploads", ""}};
  request.body = arrow::Buffer::FromString("");
  const auto reply = client_->Send(request);
  TL_RETURN_NOT_OK(Done(request, reply));
  upload_id_ = FirstElement(reply->text(), "UploadId");
  if (upload_id_.empty()) {
    return IoError("{}: the store's answer to a new upload names none", request.place);
  }
  return Status::OK();
}

Status S3Upload::Send(const Part& part) {
  RemoteRequest request = Request("PUT");
  request.query = {{"partNumber", std::to_string(part.index + 1)}, {"uploadId", upload_id_}};
  request.body = part.bytes;
  const auto reply = client_->Send(request);
  TL_RETURN_NOT_OK(Done(request, reply));
  std::string etag = reply->Header("etag");
  if (etag.empty()) {
    return IoError("{}: the store's answer to a part has no ETag", request.place);
  }
  const std::lock_guard lock(mutex_);
  etags_.resize(std::max(etags_.size(), part.index + 1));
  etags_[part.index] = std::move(etag);
  return Status::OK();
}

Status S3Upload::Complete(size_t /*parts*/, int64_t bytes) {
  RemoteRequest request = Request("POST");
  request.query = {{"uploadId", upload_id_}};
  request.headers = {{"content-type", "application/xml"}};
  request.body = arrow::Buffer::FromString(CompleteUploadXml(etags_));
  TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(request));
  const RemoteError error = ParseRemoteError(reply);  // also with status 200
  if (reply.status == 200 && error.code.empty()) return Status::OK();
  if (error.code == "NoSuchUpload") {
    TL_ASSIGN_OR_RAISE(const bool there, IsThere(bytes));
    if (there) return Status::OK();
  }
  return client_->Refused(request, reply, api_->HintOf(reply));
}

Result<bool> S3Upload::IsThere(int64_t bytes) {
  TL_ASSIGN_OR_RAISE(const HttpReply found, client_->Send(Request("HEAD")));
  const std::string parts = fmt::format("-{}\"", etags_.size());
  return found.status == 200 && found.Header("etag").ends_with(parts) &&
         found.Header("content-length") == std::to_string(bytes);
}

}  // namespace

std::unique_ptr<PartTarget> S3Api::Upload(std::shared_ptr<RemoteClient> client,
                                          const ObjectName& object) const {
  return std::make_unique<S3Upload>(shared_from_this(), std::move(client), object);
}

}  // namespace timelake::store

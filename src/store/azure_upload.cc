#include <atomic>

#include <fmt/format.h>

#include "base/uuid.h"
#include "store/azure_api.h"
#include "store/azure_xml.h"

namespace timelake::store {
namespace {

// Blocks, which a list of them makes a blob. Blocks without a list go by themselves after a week.
class AzureUpload : public PartTarget {
 public:
  AzureUpload(std::shared_ptr<const AzureApi> api, std::shared_ptr<RemoteClient> client,
              ObjectName object)
      : api_(std::move(api)),
        client_(std::move(client)),
        object_(std::move(object)),
        name_(FormatUuid(NewUuidV4(client_->random()))) {}

  std::string place() const override { return api_->Get(object_).place; }
  int parallel() const override { return 4; }
  size_t max_parts() const override { return 50'000; }  // of the service

  Status PutWhole(std::shared_ptr<arrow::Buffer> bytes) override {
    return Do(api_->Put(object_, std::move(bytes)));
  }
  Status Begin() override { return Status::OK(); }
  Status Send(const Part& part) override {
    RemoteRequest request = api_->Request("PUT", object_.bucket, object_.name);
    request.query = {{"comp", "block"}, {"blockid", BlockId(part.index)}};
    request.body = part.bytes;
    return Do(request);
  }
  Status Complete(size_t parts, int64_t /*bytes*/) override {
    std::vector<std::string> ids;
    for (size_t i = 0; i < parts; ++i) ids.push_back(BlockId(i));
    RemoteRequest request = api_->Request("PUT", object_.bucket, object_.name);
    request.query = {{"comp", "blocklist"}};
    request.headers = {{"content-type", "application/xml"},
                       {"x-ms-blob-content-type", "application/octet-stream"}};
    request.body = arrow::Buffer::FromString(BlockListXml(ids));
    return Do(request);  // sent twice, it finds the blocks of the blob that it made
  }
  void Drop() override {}

 private:
  // All of a blob have the same length. No other upload to the same name has them.
  std::string BlockId(size_t index) const { return Base64(fmt::format("{}-{:05}", name_, index)); }
  Status Do(const RemoteRequest& request) const {
    TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(request));
    return reply.status == 201 ? Status::OK() : client_->Refused(request, reply);
  }

  const std::shared_ptr<const AzureApi> api_;
  const std::shared_ptr<RemoteClient> client_;
  const ObjectName object_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<PartTarget> AzureApi::Upload(std::shared_ptr<RemoteClient> client,
                                             const ObjectName& object) const {
  return std::make_unique<AzureUpload>(shared_from_this(), std::move(client), object);
}

}  // namespace timelake::store

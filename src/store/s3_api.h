#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/remote_store.h"
#include "store/s3_options.h"

namespace timelake::store {

// The requests of the S3 protocol.
class S3Api : public UrlApi, public std::enable_shared_from_this<S3Api> {
 public:
  explicit S3Api(S3Options options) : options_(std::move(options)) {}

  std::string scheme() const override { return "s3"; }
  std::string origin() const override { return "s3 " + options_.endpoint; }

  RemoteRequest Request(const char* method, const std::string& bucket,
                        const std::string& name) const override;
  RemoteRequest Put(const ObjectName& object, std::shared_ptr<arrow::Buffer> bytes) const override;
  Result<RemoteRequest> PutIf(const ObjectName& object, std::shared_ptr<arrow::Buffer> bytes,
                              const std::optional<std::string>& expected) const override;
  RemoteRequest List(const std::string& bucket, const std::string& prefix, bool folders,
                     const std::string& token) const override;
  Result<ListPage> ParseList(std::string_view text) const override;
  Result<ObjectInfo> InfoOf(const RemoteRequest& request, const HttpReply& reply) const override;
  ObjectInfo InfoOfPut(const HttpReply& reply) const override;
  std::optional<PutOutcome> OutcomeOf(const HttpReply& reply, bool expected) const override;
  std::string HintOf(const HttpReply& reply) const override;
  std::unique_ptr<PartTarget> Upload(std::shared_ptr<RemoteClient> client,
                                     const ObjectName& object) const override;
  std::string endpoint_to_probe() const override { return options_.probe ? options_.endpoint : ""; }
  Result<bool> DeleteMany(RemoteClient* client, const std::string& bucket,
                          const std::vector<std::string>& names) const override;

 private:
  const S3Options options_;
};

}  // namespace timelake::store

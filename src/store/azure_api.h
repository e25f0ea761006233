#pragma once

#include <memory>
#include <string>

#include "store/azure_options.h"
#include "store/remote_store.h"

namespace timelake::store {

// The requests of Azure's Blob service. `uri_scheme` is the store's scheme(): "az", or how the user
// spelled it.
class AzureApi : public UrlApi, public std::enable_shared_from_this<AzureApi> {
 public:
  AzureApi(AzureOptions options, std::string uri_scheme)
      : options_(std::move(options)), uri_scheme_(std::move(uri_scheme)) {}

  std::string scheme() const override { return uri_scheme_; }
  std::string origin() const override { return "az " + options_.endpoint; }

  RemoteRequest Request(const char* method, const std::string& container,
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
  std::string endpoint_to_probe() const override {
    return options_.probe && options_.own_endpoint ? options_.endpoint : "";
  }
  std::unique_ptr<PartTarget> Upload(std::shared_ptr<RemoteClient> client,
                                     const ObjectName& object) const override;

 private:
  const AzureOptions options_;
  const std::string uri_scheme_;
};

}  // namespace timelake::store

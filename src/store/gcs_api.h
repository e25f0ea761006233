#pragma once

#include <memory>
#include <string>

#include "store/gcs_options.h"
#include "store/remote_store.h"

namespace timelake::store {

// The requests of Google Cloud Storage's JSON API. An object's identity is its generation, and its
// time that of the generation, which is the microsecond at which it was made; so all replies that
// name a generation agree on the time.
class GcsApi : public RemoteApi, public std::enable_shared_from_this<GcsApi> {
 public:
  explicit GcsApi(GcsOptions options) : options_(std::move(options)) {}

  std::string scheme() const override { return "gs"; }
  std::string origin() const override { return "gs " + options_.base_url; }

  RemoteRequest Get(const ObjectName& object) const override;
  RemoteRequest Head(const ObjectName& object) const override;
  RemoteRequest Put(const ObjectName& object, std::shared_ptr<arrow::Buffer> bytes) const override;
  Result<RemoteRequest> PutIf(const ObjectName& object, std::shared_ptr<arrow::Buffer> bytes,
                              const std::optional<std::string>& expected) const override;
  RemoteRequest Delete(const ObjectName& object) const override;
  RemoteRequest List(const std::string& bucket, const std::string& prefix, bool folders,
                     const std::string& token) const override;
  Result<ListPage> ParseList(std::string_view text) const override;
  Result<ObjectInfo> InfoOf(const RemoteRequest& request, const HttpReply& reply) const override;
  ObjectInfo InfoOfPut(const HttpReply& reply) const override;
  std::optional<PutOutcome> OutcomeOf(const HttpReply& reply, bool expected) const override;
  std::string endpoint_to_probe() const override {
    return options_.probe && options_.own_endpoint ? options_.base_url : "";
  }
  const char* condition() const override { return "ifGenerationMatch"; }
  std::unique_ptr<PartTarget> Upload(std::shared_ptr<RemoteClient> client,
                                     const ObjectName& object) const override;

  // Begins an upload in parts.
  RemoteRequest Resumable(const ObjectName& object) const;
  RemoteRequest Request(const char* method, const ObjectName& object, std::string path) const;

 private:
  const GcsOptions options_;
};

}  // namespace timelake::store

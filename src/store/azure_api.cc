#include "store/azure_api.h"

#include "base/text.h"
#include "store/azure_xml.h"
#include "store/remote_error.h"

namespace timelake::store {

RemoteRequest AzureApi::Request(const char* method, const std::string& container,
                                const std::string& name) const {
  RemoteRequest request;
  request.method = method;
  request.place = "az://" + container + (name.empty() ? "" : "/" + name);
  request.holder = "container " + container;
  const size_t slash = options_.endpoint.find('/', options_.endpoint.find("://") + 3);
  request.base = options_.endpoint.substr(0, slash);
  if (slash != std::string::npos) request.path = options_.endpoint.substr(slash);
  request.path += "/" + UriEncode(container, false);
  if (!name.empty()) request.path += "/" + UriEncode(name, true);
  return request;
}

RemoteRequest AzureApi::Put(const ObjectName& object, std::shared_ptr<arrow::Buffer> bytes) const {
  RemoteRequest request = Request("PUT", object.bucket, object.name);
  request.headers = {{"x-ms-blob-type", "BlockBlob"}, {"content-type", "application/octet-stream"}};
  request.body = std::move(bytes);
  return request;
}

Result<RemoteRequest> AzureApi::PutIf(const ObjectName& object,
                                      std::shared_ptr<arrow::Buffer> bytes,
                                      const std::optional<std::string>& expected) const {
  RemoteRequest request = Put(object, std::move(bytes));
  if (expected) {
    request.headers.emplace_back("if-match", "\"" + *expected + "\"");
  } else {
    request.headers.emplace_back("if-none-match", "*");
  }
  return request;
}

RemoteRequest AzureApi::List(const std::string& bucket, const std::string& prefix, bool folders,
                             const std::string& token) const {
  RemoteRequest request = Request("GET", bucket, "");
  request.query = {{"restype", "container"}, {"comp", "list"}};
  if (!prefix.empty()) request.query.emplace_back("prefix", prefix);
  if (folders) request.query.emplace_back("delimiter", "/");
  if (!token.empty()) request.query.emplace_back("marker", token);
  return request;
}

Result<ListPage> AzureApi::ParseList(std::string_view text) const {
  return ParseAzureListing(text);
}

Result<ObjectInfo> AzureApi::InfoOf(const RemoteRequest& /*request*/,
                                    const HttpReply& reply) const {
  ObjectInfo info = InfoOfPut(reply);
  if (info.identity.empty() || info.mtime_us < 0) {
    return Unsupported("the store's reply has no ETag or no Last-Modified, which commits need");
  }
  const auto size = ParseInt64(reply.Header("content-length"));
  info.size = size.ok() ? *size : -1;
  return info;
}

ObjectInfo AzureApi::InfoOfPut(const HttpReply& reply) const {
  ObjectInfo info;
  info.identity = WithoutQuotes(reply.Header("etag"));
  info.mtime_us = ParseHttpDate(reply.Header("last-modified"));
  return info;
}

std::optional<PutOutcome> AzureApi::OutcomeOf(const HttpReply& reply, bool expected) const {
  const RemoteError error = ParseRemoteError(reply);
  if (reply.status == 412) return PutOutcome::kExists;
  if (expected && reply.status == 404 && !error.NoBucket()) return PutOutcome::kExists;
  if (reply.status != 409) return std::nullopt;
  if (error.code == "BlobAlreadyExists") return PutOutcome::kExists;
  // These will not pass.
  for (const char* lasting : {"ContainerBeingDeleted", "ContainerDisabled", "AccountBeingCreated",
                              "BlobImmutableDueToPolicy", "InvalidBlobType", "PathConflict",
                              "ResourceTypeMismatch", "PublicAccessNotPermitted"}) {
    if (error.code == lasting) return std::nullopt;
  }
  return PutOutcome::kRepeat;
}

}  // namespace timelake::store

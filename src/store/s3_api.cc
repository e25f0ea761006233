#include "store/s3_api.h"

#include <fmt/format.h>

#include "base/text.h"
#include "store/digest.h"
#include "store/remote_error.h"
#include "store/s3_xml.h"

namespace timelake::store {

RemoteRequest S3Api::Request(const char* method, const std::string& bucket,
                             const std::string& name) const {
  std::string scheme = "https://";
  std::string host;
  bool in_host = options_.virtual_hosted.value_or(false);
  if (options_.endpoint.empty()) {
    const char* domain = options_.region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
    host = fmt::format("s3.{}.{}", options_.region, domain);
    // A certificate covers one label, so not names with dots.
    in_host = options_.virtual_hosted.value_or(bucket.find('.') == std::string::npos);
  } else {
    const size_t at = options_.endpoint.find("://") + 3;
    scheme = options_.endpoint.substr(0, at);
    host = options_.endpoint.substr(at);
    const std::string_view usual = scheme == "https://" ? ":443" : ":80";
    if (host.ends_with(usual)) host.resize(host.size() - usual.size());
  }
  RemoteRequest request;
  request.method = method;
  request.place = "s3://" + bucket + (name.empty() ? "" : "/" + name);
  request.holder = "bucket " + bucket;
  if (in_host && !host.starts_with(bucket + ".")) host = bucket + "." + host;
  if (!in_host) request.path = "/" + UriEncode(bucket, false);
  if (in_host || !name.empty()) request.path += "/" + UriEncode(name, true);
  request.base = scheme + host;
  return request;
}

RemoteRequest S3Api::Put(const ObjectName& object, std::shared_ptr<arrow::Buffer> bytes) const {
  RemoteRequest request = Request("PUT", object.bucket, object.name);
  request.body = std::move(bytes);
  return request;
}

Result<RemoteRequest> S3Api::PutIf(const ObjectName& object, std::shared_ptr<arrow::Buffer> bytes,
                                   const std::optional<std::string>& expected) const {
  RemoteRequest request = Put(object, std::move(bytes));
  if (expected) {
    request.headers = {{"if-match", *expected}};
  } else {
    request.headers = {{"if-none-match", "*"}};
  }
  return request;
}

RemoteRequest S3Api::List(const std::string& bucket, const std::string& prefix, bool folders,
                          const std::string& token) const {
  RemoteRequest request = Request("GET", bucket, "");
  request.query = {{"list-type", "2"}};
  if (!prefix.empty()) request.query.emplace_back("prefix", prefix);
  if (folders) request.query.emplace_back("delimiter", "/");
  if (!token.empty()) request.query.emplace_back("continuation-token", token);
  return request;
}

Result<ListPage> S3Api::ParseList(std::string_view text) const { return ParseS3Listing(text); }

Result<ObjectInfo> S3Api::InfoOf(const RemoteRequest& /*request*/, const HttpReply& reply) const {
  ObjectInfo info;
  info.identity = reply.Header("etag");
  info.mtime_us = ParseHttpDate(reply.Header("last-modified"));
  if (info.identity.empty() || info.mtime_us < 0) {
    return Unsupported("the store's reply has no ETag or no Last-Modified, which commits need");
  }
  const auto size = ParseInt64(reply.Header("content-length"));
  info.size = size.ok() ? *size : -1;
  return info;
}

ObjectInfo S3Api::InfoOfPut(const HttpReply& reply) const {
  ObjectInfo info;
  info.identity = reply.Header("etag");
  info.mtime_us = -1;
  return info;
}

std::optional<PutOutcome> S3Api::OutcomeOf(const HttpReply& reply, bool expected) const {
  const RemoteError error = ParseRemoteError(reply);
  const bool gone = expected && reply.status == 404 && !error.NoBucket();
  if (reply.status == 412 || gone) return PutOutcome::kExists;
  if (reply.status == 409 && (error.code.empty() || error.code == "ConditionalRequestConflict" ||
                              error.code == "OperationAborted")) {
    return PutOutcome::kRepeat;
  }
  return std::nullopt;
}

std::string S3Api::HintOf(const HttpReply& reply) const {
  const std::string region = reply.Header("x-amz-bucket-region");
  if (region.empty() || region == options_.region) return "";
  return fmt::format("the bucket is in the region {}, and aws_region is {}", region,
                     options_.region);
}

Result<bool> S3Api::DeleteMany(RemoteClient* client, const std::string& bucket,
                               const std::vector<std::string>& names) const {
  const std::string xml = DeleteManyXml(names);
  RemoteRequest request = Request("POST", bucket, "");
  request.query = {{"delete", ""}};
  request.headers = {{"content-type", "application/xml"}, {"content-md5", Md5Base64(xml)}};
  request.body = arrow::Buffer::FromString(xml);
  TL_ASSIGN_OR_RAISE(const HttpReply reply, client->Send(request));
  if (reply.status != 200) return client->Refused(request, reply, HintOf(reply));
  for (const S3Error& error : ParseDeleteErrors(reply.text())) {
    if (error.code == "NoSuchKey") continue;
    return IoError("s3://{}/{}: delete was refused: {} {}", bucket, error.key, error.code,
                   error.message);
  }
  return true;
}

}  // namespace timelake::store

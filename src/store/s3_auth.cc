#include "store/s3_auth.h"

#include "store/digest.h"
#include "store/net_libraries.h"
#include "store/remote_error.h"
#include "store/s3_sign.h"

namespace timelake::store {
namespace {

std::string_view View(const std::shared_ptr<arrow::Buffer>& bytes) {
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes->data()), static_cast<size_t>(bytes->size())};
}

}  // namespace

Status S3Authorizer::Authorize(RemoteRequest* request, int64_t now_us) {
  TL_RETURN_NOT_OK(LoadCrypto().status());
  TL_ASSIGN_OR_RAISE(const S3Credentials credentials, credentials_.Get());
  const S3Keys& keys = credentials.keys;
  if (keys.access_key.empty()) return Status::OK();
  // What a conditional put writes is hashed always.
  const bool hashed = !options_.unsigned_payload || request->body == nullptr || request->once;
  SignInput sign;
  sign.method = request->method;
  sign.path = request->path;
  sign.query = request->query;
  sign.payload_hash = hashed ? Sha256Hex(View(request->body)) : "UNSIGNED-PAYLOAD";
  sign.region = options_.region;
  sign.now_us = now_us;
  NameValues& headers = request->headers;
  headers.emplace_back("x-amz-content-sha256", sign.payload_hash);
  headers.emplace_back("x-amz-date", AmzDate(now_us));
  if (!keys.session_token.empty()) headers.emplace_back("x-amz-security-token", keys.session_token);
  sign.headers = headers;
  sign.headers.emplace_back("host", request->host());
  headers.emplace_back("authorization", Authorization(sign, keys));
  return Status::OK();
}

bool S3Authorizer::Renew(const RemoteRequest& sent, const HttpReply& reply) {
  const std::string code = ParseRemoteError(reply).code;
  if (code != "ExpiredToken" && code != "TokenRefreshRequired") return false;
  const auto header = [&](const char* name) -> std::string {
    for (const auto& [known, value] : sent.headers) {
      if (known == name) return value;
    }
    return "";
  };
  const auto used = [&](const S3Credentials& credentials) {
    const std::string credential = "Credential=" + credentials.keys.access_key + "/";
    return header("authorization").find(credential) != std::string::npos &&
           header("x-amz-security-token") == credentials.keys.session_token;
  };
  const auto fresh = credentials_.Again(used);
  return fresh && !used(*fresh);
}

void S3Authorizer::Redact(std::string* text) const {
  const auto credentials = credentials_.Known();
  if (!credentials) return;
  ReplaceSecret(text, credentials->keys.secret_key);
  ReplaceSecret(text, credentials->keys.session_token);
}

}  // namespace timelake::store

#include "store/s3_auth.h"

#include <algorithm>

#include "base/civil_time.h"
#include "store/digest.h"
#include "store/net_libraries.h"
#include "store/remote_error.h"
#include "store/s3_sign.h"

namespace timelake::store {
namespace {

constexpr int64_t kRenewUs = 5 * kMicrosPerMinute;

std::string_view View(const std::shared_ptr<arrow::Buffer>& bytes) {
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes->data()), static_cast<size_t>(bytes->size())};
}

}  // namespace

Result<S3Keys> S3Authorizer::Keys() {
  const std::lock_guard lock(mutex_);
  const int64_t now = clock_->NowMicros();
  const int64_t expires = credentials_ ? credentials_->expires_us : 0;
  if (credentials_ && (expires == 0 || now < expires - kRenewUs)) return credentials_->keys;
  TL_RETURN_NOT_OK(LoadCrypto().status());
  auto fresh = FindCredentials(options_, env_, *clock_);
  if (fresh.ok()) {
    credentials_ = *std::move(fresh);
  } else if (!credentials_ || now >= expires) {
    return fresh.status();
  }
  return credentials_->keys;
}

Status S3Authorizer::Authorize(RemoteRequest* request, int64_t now_us) {
  TL_ASSIGN_OR_RAISE(const S3Keys keys, Keys());
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
  const std::lock_guard lock(mutex_);
  auto fresh = FindCredentials(options_, env_, *clock_);
  if (!fresh.ok()) return false;
  credentials_ = *std::move(fresh);
  // Only if they are not those that were refused.
  const auto header = [&](const char* name) -> std::string {
    for (const auto& [known, value] : sent.headers) {
      if (known == name) return value;
    }
    return "";
  };
  const S3Keys& keys = credentials_->keys;
  const std::string credential = "Credential=" + keys.access_key + "/";
  return header("authorization").find(credential) == std::string::npos ||
         header("x-amz-security-token") != keys.session_token;
}

void S3Authorizer::Redact(std::string* text) const {
  const std::lock_guard lock(mutex_);
  if (!credentials_) return;
  ReplaceSecret(text, credentials_->keys.secret_key);
  ReplaceSecret(text, credentials_->keys.session_token);
}

}  // namespace timelake::store

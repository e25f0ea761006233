#include "store/s3_client.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/uuid.h"
#include "store/net_libraries.h"
#include "store/s3_xml.h"

namespace timelake::store {
namespace {

constexpr int64_t kFirstPauseUs = 50'000;
constexpr int64_t kLongestPauseUs = 5'000'000;
constexpr int64_t kMaxUnsent = 3;  // tries again when nobody listens
constexpr int kProbeTries = 3;
constexpr int64_t kRenewUs = int64_t{5} * 60 * 1'000'000;

std::string_view View(const std::shared_ptr<arrow::Buffer>& bytes) {
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes->data()), static_cast<size_t>(bytes->size())};
}

// Replies that say "later", or leave open what happened.
bool Transient(const HttpReply& reply) {
  if (reply.status == 408 || reply.status == 429) return true;
  if (reply.status >= 500) return reply.status != 501;
  if (reply.status == 400) return ParseS3Error(reply.text()).code == "RequestTimeout";
  return false;
}

std::string Describe(const HttpReply& reply) {
  const S3Error error = ParseS3Error(reply.text());
  std::string text = fmt::format("HTTP {}", reply.status);
  if (!error.code.empty()) text += " " + error.code;
  if (!error.message.empty()) text += ": " + error.message;
  return text;
}

void ReplaceAll(std::string* text, const std::string& secret) {
  if (secret.empty()) return;
  for (size_t at = text->find(secret); at != std::string::npos; at = text->find(secret, at + 3)) {
    text->replace(at, secret.size(), "***");
  }
}

}  // namespace

S3Client::S3Client(S3Options options, EnvLookup env, std::shared_ptr<Clock> clock,
                   std::shared_ptr<Random> random)
    : options_(std::move(options)),
      env_(std::move(env)),
      clock_(std::move(clock)),
      random_(std::move(random)),
      http_(options_.http) {}

S3Client::Target S3Client::TargetOf(const S3Request& request) const {
  std::string scheme = "https://";
  std::string host;
  bool in_host = options_.virtual_hosted.value_or(false);
  if (options_.endpoint.empty()) {
    const char* domain = options_.region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
    host = fmt::format("s3.{}.{}", options_.region, domain);
    // A certificate covers one label, so not names with dots.
    in_host = options_.virtual_hosted.value_or(request.bucket.find('.') == std::string::npos);
  } else {
    const size_t at = options_.endpoint.find("://") + 3;
    scheme = options_.endpoint.substr(0, at);
    host = options_.endpoint.substr(at);
    const std::string_view usual = scheme == "https://" ? ":443" : ":80";
    if (host.ends_with(usual)) host.resize(host.size() - usual.size());
  }
  Target target;
  if (in_host && !host.starts_with(request.bucket + ".")) host = request.bucket + "." + host;
  if (!in_host) target.path = "/" + UriEncode(request.bucket, false);
  if (in_host || !request.key.empty()) target.path += "/" + UriEncode(request.key, true);
  target.url = scheme + host + target.path;
  target.host = std::move(host);
  return target;
}

HttpResult S3Client::Do(const S3Request& request, const S3Keys& keys,
                        const std::string& payload_hash, bool once) {
  const Target target = TargetOf(request);
  HttpRequest http;
  http.method = request.method;
  http.url = target.url;
  if (!request.query.empty()) http.url += "?" + QueryText(request.query);
  http.headers = request.headers;
  http.body = request.body;
  http.send_once = once;
  if (!keys.access_key.empty()) {
    SignInput sign;
    sign.method = request.method;
    sign.path = target.path;
    sign.query = request.query;
    sign.payload_hash = payload_hash;
    sign.region = options_.region;
    sign.now_us = clock_->NowMicros() + skew_us_;
    http.headers.emplace_back("x-amz-content-sha256", payload_hash);
    http.headers.emplace_back("x-amz-date", AmzDate(sign.now_us));
    if (!keys.session_token.empty()) {
      http.headers.emplace_back("x-amz-security-token", keys.session_token);
    }
    sign.headers = http.headers;
    sign.headers.emplace_back("host", target.host);
    http.headers.emplace_back("authorization", Authorization(sign, keys));
  }
  return http_.Do(http);
}

Result<S3Keys> S3Client::Keys() {
  const std::lock_guard lock(mutex_);
  const int64_t now = clock_->NowMicros();
  const int64_t expires = credentials_ ? credentials_->expires_us : 0;
  if (credentials_ && (expires == 0 || now < expires - kRenewUs)) return credentials_->keys;
  TL_RETURN_NOT_OK(LoadCurl().status());
  TL_RETURN_NOT_OK(LoadCrypto().status());
  auto fresh = FindCredentials(options_, env_, *clock_);
  if (fresh.ok()) {
    credentials_ = *std::move(fresh);
  } else if (!credentials_ || now >= expires) {
    return fresh.status();
  }
  return credentials_->keys;
}

bool S3Client::Mend(const HttpReply& reply, const S3Keys& used) {
  if (reply.status != 403 && reply.status != 400) return false;
  const std::string code = ParseS3Error(reply.text()).code;
  if (code == "RequestTimeTooSkewed") {
    const int64_t date = ParseHttpDate(reply.Header("date"));
    if (date < 0) return false;
    skew_us_ = date - clock_->NowMicros();
    return true;
  }
  if (code != "ExpiredToken" && code != "TokenRefreshRequired") return false;
  const std::lock_guard lock(mutex_);
  auto fresh = FindCredentials(options_, env_, *clock_);
  if (!fresh.ok()) return false;
  credentials_ = *std::move(fresh);
  const S3Keys& keys = credentials_->keys;
  return keys.access_key != used.access_key || keys.session_token != used.session_token;
}

void S3Client::Pause(int64_t attempt) {
  const int64_t limit = std::min(kLongestPauseUs, kFirstPauseUs << std::min<int64_t>(attempt, 10));
  clock_->SleepMicros(static_cast<int64_t>(random_->Below(static_cast<uint64_t>(limit) + 1)));
}

Result<HttpReply> S3Client::Send(const S3Request& request) {
  TL_ASSIGN_OR_RAISE(S3Keys keys, Keys());
  const bool unsigned_body = options_.unsigned_payload && request.body != nullptr;
  const std::string hash = unsigned_body ? "UNSIGNED-PAYLOAD" : Sha256Hex(View(request.body));
  const int64_t started = clock_->BootMicros();
  bool mended = false;
  for (int64_t attempt = 0;; ++attempt) {
    HttpResult result = Do(request, keys, hash, false);
    if (result.outcome == HttpOutcome::kReply && !Transient(result.reply)) {
      if (!mended && Mend(result.reply, keys)) {
        mended = true;
        TL_ASSIGN_OR_RAISE(keys, Keys());
        continue;
      }
      return std::move(result.reply);
    }
    const bool unsent = result.outcome == HttpOutcome::kNotSent;
    const int64_t most = unsent ? std::min(kMaxUnsent, options_.max_retries) : options_.max_retries;
    if (attempt >= most || clock_->BootMicros() - started >= options_.retry_timeout_us) {
      const std::string why =
          result.outcome == HttpOutcome::kReply ? Describe(result.reply) : result.error;
      return IoError("{}: {} failed {} times: {}", request.Place(), request.method, attempt + 1,
                     Redacted(why));
    }
    Pause(attempt);
  }
}

Result<S3Client::Once> S3Client::SendOnce(const S3Request& request) {
  TL_ASSIGN_OR_RAISE(S3Keys keys, Keys());
  const std::string hash = Sha256Hex(View(request.body));
  HttpResult result = Do(request, keys, hash, true);
  // A refusal had no effect for certain, so that this is no second sending.
  if (result.outcome == HttpOutcome::kReply && Mend(result.reply, keys)) {
    TL_ASSIGN_OR_RAISE(keys, Keys());
    result = Do(request, keys, hash, true);
  }
  if (result.outcome == HttpOutcome::kNotSent) {
    return IoError("{}: {} was not sent: {}", request.Place(), request.method,
                   Redacted(result.error));
  }
  Once once;
  if (result.outcome == HttpOutcome::kNoReply) {
    once.why = Redacted(result.error);
    return once;
  }
  if (Transient(result.reply)) {
    once.why = Redacted(Describe(result.reply));
    if (result.reply.status == 429 || result.reply.status == 503) Pause(2);  // it is overloaded
    return once;
  }
  once.replied = true;
  once.reply = std::move(result.reply);
  return once;
}

Status S3Client::Refused(const S3Request& request, const HttpReply& reply) const {
  std::string text = Describe(reply);
  const std::string region = reply.Header("x-amz-bucket-region");
  if (!region.empty() && region != options_.region) {
    text += fmt::format("; the bucket is in the region {}, and aws_region is {}", region,
                        options_.region);
  } else if (ParseS3Error(reply.text()).code == "NoSuchBucket") {
    text = fmt::format("the bucket {} does not exist", request.bucket);
  }
  text = fmt::format("{}: {} was refused: {}", request.Place(), request.method, Redacted(text));
  return MakeError(reply.status == 501 ? ErrorKind::kUnsupported : ErrorKind::kIo, text);
}

Result<int64_t> S3Client::DateOf(const S3Request& request, const HttpReply& reply) const {
  const int64_t date = ParseHttpDate(reply.Header("date"));
  if (date < 0) {
    return Unsupported("{}: the store's reply has no Date, which commits need", request.Place());
  }
  return date;
}

Status S3Client::EnsureConditionalPut(const std::string& bucket, const std::string& key) {
  if (!options_.probe || options_.endpoint.empty()) return Status::OK();
  static std::mutex mutex;
  static auto& good = *new std::set<std::string>();
  const std::string name = options_.endpoint + " " + bucket;
  const std::lock_guard lock(mutex);
  if (good.contains(name)) return Status::OK();
  TL_RETURN_NOT_OK(Probe(bucket, key));
  good.insert(name);
  return Status::OK();
}

Status S3Client::Probe(const std::string& bucket, const std::string& key) {
  std::string why;
  for (int i = 0; i < kProbeTries; ++i) {
    S3Request put;
    put.method = "PUT";
    put.bucket = bucket;
    put.key = key.substr(0, key.rfind('/') + 1) + "probe-" + FormatUuid(NewUuidV4(*random_));
    put.headers = {{"if-none-match", "*"}};
    put.body = arrow::Buffer::FromString("of If-None-Match; may be deleted\n");
    S3Request remove = put;
    remove.method = "DELETE";
    remove.headers.clear();
    remove.body = nullptr;
    TL_ASSIGN_OR_RAISE(const Once first, SendOnce(put));
    if (first.replied && first.reply.status / 100 == 2) {
      auto second = SendOnce(put);
      (void)Send(remove);  // what is left behind does no harm
      TL_RETURN_NOT_OK(second.status());
      if (second->replied && second->reply.status == 412) return Status::OK();
      if (second->replied && second->reply.status / 100 == 2) {
        return Unsupported(
            "the store at {} ignores If-None-Match: it replaced an object that was to be created "
            "only if absent, so commits of several writers would overwrite each other. Nothing was "
            "written. A store known to be used by a single writer can be used with the storage "
            "option timelake_probe_conditional_put = false",
            options_.endpoint);
      }
      why = second->replied ? Describe(second->reply) : second->why;
      continue;
    }
    (void)Send(remove);
    if (first.replied && first.reply.status != 409 && first.reply.status != 412) {
      return Refused(put, first.reply);
    }
    why = first.replied ? Describe(first.reply) : first.why;
  }
  return IoError("s3://{}: could not find out whether the store honours If-None-Match: {}", bucket,
                 Redacted(why));
}

std::string S3Client::Redacted(std::string text) const {
  const std::lock_guard lock(mutex_);
  if (credentials_) {
    ReplaceAll(&text, credentials_->keys.secret_key);
    ReplaceAll(&text, credentials_->keys.session_token);
  }
  return text;
}

}  // namespace timelake::store

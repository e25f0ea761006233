#include "store/remote_client.h"

#include <algorithm>
#include <cstdlib>

#include "base/civil_time.h"
#include "store/net_libraries.h"
#include "store/remote_error.h"

namespace timelake::store {
namespace {

constexpr int64_t kFirstPauseUs = 50'000;
constexpr int64_t kLongestPauseUs = 5'000'000;
constexpr int64_t kMaxUnsent = 3;  // tries again when nobody listens
constexpr int64_t kSkewToMendUs = 5 * kMicrosPerMinute;

}  // namespace

RemoteClient::RemoteClient(RemoteOptions options, std::shared_ptr<Authorizer> authorizer,
                           std::shared_ptr<Clock> clock, std::shared_ptr<Random> random)
    : options_(std::move(options)),
      authorizer_(std::move(authorizer)),
      clock_(std::move(clock)),
      random_(std::move(random)),
      http_(options_.http) {}

Result<HttpResult> RemoteClient::Do(const RemoteRequest& request, bool once, RemoteRequest* sent) {
  *sent = request;
  sent->once = once;
  TL_RETURN_NOT_OK(authorizer_->Authorize(sent, clock_->NowMicros() + skew_us_));
  HttpRequest http;
  http.method = sent->method;
  http.url = sent->url();
  http.headers = sent->headers;
  http.body = sent->body;
  http.send_once = once;
  return http_.Do(http);
}

bool RemoteClient::Mend(const RemoteRequest& sent, const HttpReply& reply) {
  if (reply.status != 400 && reply.status != 401 && reply.status != 403) return false;
  const std::string code = ParseRemoteError(reply).code;
  const int64_t date = ParseHttpDate(reply.Header("date"));
  if (code == "RequestTimeTooSkewed" || code == "AuthenticationFailed") {
    const int64_t skew = date - clock_->NowMicros();
    if (date >= 0 && std::abs(skew - skew_us_) > kSkewToMendUs) {
      skew_us_ = skew;
      return true;
    }
  }
  return authorizer_->Renew(sent, reply);
}

void RemoteClient::Pause(int64_t attempt) {
  const int64_t limit = std::min(kLongestPauseUs, kFirstPauseUs << std::min<int64_t>(attempt, 10));
  clock_->SleepMicros(static_cast<int64_t>(random_->Below(static_cast<uint64_t>(limit) + 1)));
}

Result<HttpReply> RemoteClient::Send(const RemoteRequest& request) {
  TL_RETURN_NOT_OK(LoadCurl().status());
  const int64_t started = clock_->BootMicros();
  bool mended = false;
  for (int64_t attempt = 0;; ++attempt) {
    RemoteRequest sent;
    TL_ASSIGN_OR_RAISE(HttpResult result, Do(request, false, &sent));
    if (result.outcome == HttpOutcome::kReply && !IsTransient(result.reply)) {
      if (!mended && Mend(sent, result.reply)) {
        mended = true;
        continue;
      }
      return std::move(result.reply);
    }
    const bool unsent = result.outcome == HttpOutcome::kNotSent;
    const int64_t most = unsent ? std::min(kMaxUnsent, options_.max_retries) : options_.max_retries;
    if (attempt >= most || clock_->BootMicros() - started >= options_.retry_timeout_us) {
      const std::string why =
          result.outcome == HttpOutcome::kReply ? Describe(result.reply) : result.error;
      return IoError("{}: {} failed {} times: {}", request.place, request.method, attempt + 1,
                     Redacted(why));
    }
    Pause(attempt);
  }
}

Result<RemoteClient::Once> RemoteClient::SendOnce(const RemoteRequest& request) {
  TL_RETURN_NOT_OK(LoadCurl().status());
  RemoteRequest sent;
  TL_ASSIGN_OR_RAISE(HttpResult result, Do(request, true, &sent));
  // A refusal had no effect for certain, so that this is no second sending.
  if (result.outcome == HttpOutcome::kReply && Mend(sent, result.reply)) {
    TL_ASSIGN_OR_RAISE(result, Do(request, true, &sent));
  }
  if (result.outcome == HttpOutcome::kNotSent) {
    return IoError("{}: {} was not sent: {}", request.place, request.method,
                   Redacted(result.error));
  }
  Once once;
  if (result.outcome == HttpOutcome::kNoReply) {
    once.why = Redacted(result.error);
    return once;
  }
  if (IsTransient(result.reply)) {
    once.why = Redacted(Describe(result.reply));
    if (result.reply.status == 429 || result.reply.status == 503) Pause(2);  // it is overloaded
    return once;
  }
  once.replied = true;
  once.reply = std::move(result.reply);
  return once;
}

Status RemoteClient::Refused(const RemoteRequest& request, const HttpReply& reply,
                             const std::string& hint) const {
  std::string text = Describe(reply);
  if (!hint.empty()) {
    text += "; " + hint;
  } else if (ParseRemoteError(reply).NoBucket()) {
    text = fmt::format("the {} does not exist", request.holder);
  }
  text = fmt::format("{}: {} was refused: {}", request.place, request.method, Redacted(text));
  return MakeError(reply.status == 501 ? ErrorKind::kUnsupported : ErrorKind::kIo, text);
}

Result<int64_t> RemoteClient::DateOf(const RemoteRequest& request, const HttpReply& reply) {
  const int64_t date = ParseHttpDate(reply.Header("date"));
  if (date < 0) {
    return Unsupported("{}: the store's reply has no Date, which commits need", request.place);
  }
  return date;
}

std::string RemoteClient::Redacted(std::string text) const {
  authorizer_->Redact(&text);
  return text;
}

}  // namespace timelake::store

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "store/http_client.h"
#include "store/remote_options.h"
#include "store/url_text.h"

namespace timelake::store {

struct RemoteRequest {
  std::string method;
  std::string place;   // for messages: "s3://bucket/name"
  std::string holder;  // for messages: "bucket b", "container c"
  std::string base;    // "https://host[:port]"
  std::string path;    // percent-encoded, with its first slash
  NameValues query;    // not encoded
  NameValues headers;  // names in lower case
  std::shared_ptr<arrow::Buffer> body;
  bool once = false;  // set by SendOnce

  std::string host() const { return base.substr(base.find("://") + 3); }
  std::string url() const { return base + path + (query.empty() ? "" : "?" + QueryText(query)); }
};

// Whose requests they are: signs them, or gives them a token. Thread-safe.
class Authorizer {
 public:
  virtual ~Authorizer() = default;

  // Adds what the store recognises its user by; the credentials are looked for first, or again some
  // minutes before they expire. `now_us` is the store's time.
  virtual Status Authorize(RemoteRequest* request, int64_t now_us) = 0;

  // The store refused `sent` with `reply`: true if that was for credentials that have been replaced
  // by others since, or by this call.
  virtual bool Renew(const RemoteRequest& sent, const HttpReply& reply) = 0;

  // Takes secrets out of a message.
  virtual void Redact(std::string* text) const = 0;
};

// Sends requests to a store: authorized, repeated where that is allowed. Thread-safe.
class RemoteClient {
 public:
  RemoteClient(RemoteOptions options, std::shared_ptr<Authorizer> authorizer,
               std::shared_ptr<Clock> clock, std::shared_ptr<Random> random);

  Clock& clock() const { return *clock_; }
  Random& random() const { return *random_; }

  // For requests that may have effect more than once. Repeats what got no reply, or one that says
  // "later", with waits that grow, under the options' budget; then kIo. Any other reply is
  // returned, whatever its status.
  Result<HttpReply> Send(const RemoteRequest& request);

  // Sends the body once. Not replied also where a reply leaves open whether the request had effect
  // (408, 429, 5xx). An error: certainly not sent, or certainly refused.
  struct Once {
    bool replied = false;
    HttpReply reply;
    std::string why;  // when not replied
  };
  Result<Once> SendOnce(const RemoteRequest& request);

  // The error for a reply that is none of those the caller can use. `hint` is added to it.
  Status Refused(const RemoteRequest& request, const HttpReply& reply,
                 const std::string& hint = "") const;

  // The store's clock when it answered. An error for a reply without Date.
  static Result<int64_t> DateOf(const RemoteRequest& request, const HttpReply& reply);

 private:
  Result<HttpResult> Do(const RemoteRequest& request, bool once, RemoteRequest* sent);
  // Whether a refusal is one that another try may mend: new keys, the store's clock.
  bool Mend(const RemoteRequest& sent, const HttpReply& reply);
  void Pause(int64_t attempt);
  std::string Redacted(std::string text) const;

  const RemoteOptions options_;
  const std::shared_ptr<Authorizer> authorizer_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<Random> random_;
  HttpClient http_;
  std::atomic<int64_t> skew_us_ = 0;  // the store's clock minus ours, once it has complained
};

}  // namespace timelake::store

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "store/http_client.h"
#include "store/s3_credentials.h"
#include "store/s3_options.h"
#include "store/s3_sign.h"

namespace timelake::store {

struct S3Request {
  std::string method;
  std::string bucket;
  std::string key;  // without the bucket; empty: a request to the bucket
  NameValues query;
  NameValues headers;  // names in lower case; all are signed
  std::shared_ptr<arrow::Buffer> body;

  std::string Place() const { return "s3://" + bucket + (key.empty() ? "" : "/" + key); }
};

// Requests of the S3 protocol: addressed, signed, repeated. Thread-safe.
class S3Client {
 public:
  S3Client(S3Options options, EnvLookup env, std::shared_ptr<Clock> clock,
           std::shared_ptr<Random> random);

  const S3Options& options() const { return options_; }
  Clock& clock() const { return *clock_; }
  Random& random() const { return *random_; }

  // For requests that may have effect more than once. Repeats what got no reply, or one that says
  // "later", with waits that grow, under the options' budget; then kIo. Any other reply is
  // returned, whatever its status.
  Result<HttpReply> Send(const S3Request& request);

  // Sends the body once. kNoReply also for a reply that leaves open whether the request had effect
  // (408, 429, 5xx). An error: certainly not sent, or certainly refused.
  struct Once {
    bool replied = false;
    HttpReply reply;
    std::string why;  // when not replied
  };
  Result<Once> SendOnce(const S3Request& request);

  // The error for a reply that is none of those the caller can use.
  Status Refused(const S3Request& request, const HttpReply& reply) const;

  // The store's clock when it answered.
  Result<int64_t> DateOf(const S3Request& request, const HttpReply& reply) const;

  // Before If-None-Match is relied on: does the store honour it? Asked once per bucket and process,
  // with an object beside `key` that is deleted again. Not asked of AWS itself.
  Status EnsureConditionalPut(const std::string& bucket, const std::string& key);

 private:
  struct Target {
    std::string url;  // without query
    std::string host;
    std::string path;
  };
  Target TargetOf(const S3Request& request) const;
  HttpResult Do(const S3Request& request, const S3Keys& keys, const std::string& payload_hash,
                bool once);
  // Found again some minutes before they expire.
  Result<S3Keys> Keys();
  // Whether a refusal is one that another try may mend: new keys, the store's clock.
  bool Mend(const HttpReply& reply, const S3Keys& used);
  void Pause(int64_t attempt);
  Status Probe(const std::string& bucket, const std::string& key);
  std::string Redacted(std::string text) const;

  const S3Options options_;
  const EnvLookup env_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<Random> random_;
  HttpClient http_;
  mutable std::mutex mutex_;
  std::optional<S3Credentials> credentials_;
  std::atomic<int64_t> skew_us_ = 0;  // the store's clock minus ours, once it has complained
};

}  // namespace timelake::store

#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "store/remote_client.h"
#include "store/s3_credentials.h"
#include "store/s3_options.h"

namespace timelake::store {

// Signs requests with the keys that FindCredentials finds. Thread-safe.
class S3Authorizer : public Authorizer {
 public:
  S3Authorizer(S3Options options, EnvLookup env, std::shared_ptr<Clock> clock)
      : options_(std::move(options)), env_(std::move(env)), clock_(std::move(clock)) {}

  Status Authorize(RemoteRequest* request, int64_t now_us) override;
  bool Renew(const RemoteRequest& sent, const HttpReply& reply) override;
  void Redact(std::string* text) const override;

 private:
  // Found again some minutes before they expire.
  Result<S3Keys> Keys();

  const S3Options options_;
  const EnvLookup env_;
  const std::shared_ptr<Clock> clock_;
  mutable std::mutex mutex_;
  std::optional<S3Credentials> credentials_;
};

}  // namespace timelake::store

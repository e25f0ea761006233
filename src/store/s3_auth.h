#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "store/remote_client.h"
#include "store/renewing.h"
#include "store/s3_credentials.h"
#include "store/s3_options.h"

namespace timelake::store {

// Signs requests with the keys that FindCredentials finds. Thread-safe.
class S3Authorizer : public Authorizer {
 public:
  S3Authorizer(S3Options options, EnvLookup env, std::shared_ptr<Clock> clock)
      : options_(std::move(options)),
        credentials_(
            [this, env = std::move(env), clock] { return FindCredentials(options_, env, *clock); },
            clock) {}

  Status Authorize(RemoteRequest* request, int64_t now_us) override;
  bool Renew(const RemoteRequest& sent, const HttpReply& reply) override;
  void Redact(std::string* text) const override;

 private:
  const S3Options options_;
  Renewing<S3Credentials> credentials_;
};

}  // namespace timelake::store

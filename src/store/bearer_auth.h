#pragma once

#include <memory>

#include "base/clock.h"
#include "store/credential_sources.h"
#include "store/remote_client.h"
#include "store/renewing.h"

namespace timelake::store {

// Requests with an OAuth token, found again before it expires and when the store refuses it.
// Thread-safe.
class BearerAuthorizer : public Authorizer {
 public:
  BearerAuthorizer(Renewing<AccessToken>::Find find, std::shared_ptr<Clock> clock)
      : token_(std::move(find), std::move(clock)) {}

  Status Authorize(RemoteRequest* request, int64_t /*now_us*/) override {
    TL_ASSIGN_OR_RAISE(const AccessToken token, token_.Get());
    if (token.token.empty()) return Status::OK();
    request->headers.emplace_back("authorization", "Bearer " + token.token);
    return Status::OK();
  }

  bool Renew(const RemoteRequest& sent, const HttpReply& reply) override {
    if (reply.status != 401) return false;
    const auto used = [&](const AccessToken& token) {
      for (const auto& [name, value] : sent.headers) {
        if (name == "authorization") return value == "Bearer " + token.token;
      }
      return token.token.empty();
    };
    const auto fresh = token_.Again(used);
    return fresh && !used(*fresh);
  }

  void Redact(std::string* text) const override {
    if (const auto token = token_.Known()) ReplaceSecret(text, token->token);
  }

 private:
  Renewing<AccessToken> token_;
};

}  // namespace timelake::store

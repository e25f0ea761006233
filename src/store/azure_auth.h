#pragma once

#include <memory>
#include <string>

#include "store/azure_credentials.h"
#include "store/remote_client.h"
#include "store/renewing.h"

namespace timelake::store {

// Thread-safe.
class AzureAuthorizer : public Authorizer {
 public:
  AzureAuthorizer(AzureOptions options, std::shared_ptr<Clock> clock)
      : options_(std::move(options)),
        credentials_([this, clock] { return FindAzureCredentials(options_, *clock); }, clock) {}

  Status Authorize(RemoteRequest* request, int64_t now_us) override;
  bool Renew(const RemoteRequest& sent, const HttpReply& reply) override;
  void Redact(std::string* text) const override;

 private:
  const AzureOptions options_;
  Renewing<AzureCredentials> credentials_;
};

}  // namespace timelake::store

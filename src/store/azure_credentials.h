#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "store/azure_options.h"

namespace timelake::store {

// One of these; none: requests are not authorized.
struct AzureCredentials {
  std::string account_key;  // raw bytes: requests are signed ("Shared Key")
  NameValues sas;
  std::string token;
  int64_t expires_us = 0;  // 0: never, or not known
};

// Where they come from, in this order: the callback; a token, an account key, a client secret, a
// federated token file (workload identity), a shared access signature among the options; the Azure
// CLI, if an option asks for it; the machine's managed identity. A source that is there but does
// not answer is an error, not passed over. Messages hold no secret.
Result<AzureCredentials> FindAzureCredentials(const AzureOptions& options, Clock& clock);

}  // namespace timelake::store

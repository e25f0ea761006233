#include "store/azure_auth.h"

#include <algorithm>

#include "store/azure_sign.h"
#include "store/net_libraries.h"
#include "store/remote_error.h"

namespace timelake::store {
namespace {

constexpr const char* kVersion = "2023-11-03";  // of the service's interface

}  // namespace

Status AzureAuthorizer::Authorize(RemoteRequest* request, int64_t now_us) {
  TL_ASSIGN_OR_RAISE(const AzureCredentials credentials, credentials_.Get());
  NameValues& headers = request->headers;
  headers.emplace_back("x-ms-version", kVersion);
  headers.emplace_back("x-ms-date", HttpDate(now_us));
  if (!credentials.token.empty()) {
    headers.emplace_back("authorization", "Bearer " + credentials.token);
  } else if (!credentials.sas.empty()) {
    request->query.insert(request->query.end(), credentials.sas.begin(), credentials.sas.end());
  } else if (!credentials.account_key.empty()) {
    TL_RETURN_NOT_OK(LoadCrypto().status());
    headers.emplace_back("authorization", SharedKeyAuthorization(*request, options_.account,
                                                                 credentials.account_key));
  }
  return Status::OK();
}

bool AzureAuthorizer::Renew(const RemoteRequest& sent, const HttpReply& reply) {
  // Not for a 403 that says that the user may not do this.
  if (reply.status != 401 && ParseRemoteError(reply).code != "AuthenticationFailed") return false;
  // Keys of options do not change; asking the callback or a token endpoint again may help.
  const auto used = [&](const AzureCredentials& known) {
    const auto has = [](const NameValues& pairs, const NameValues::value_type& pair) {
      return std::find(pairs.begin(), pairs.end(), pair) != pairs.end();
    };
    if (!known.token.empty()) {
      return has(sent.headers, {"authorization", "Bearer " + known.token});
    }
    return std::all_of(known.sas.begin(), known.sas.end(),
                       [&](const auto& pair) { return has(sent.query, pair); });
  };
  const auto fresh = credentials_.Again(used);
  return fresh && !used(*fresh);
}

void AzureAuthorizer::Redact(std::string* text) const {
  const auto credentials = credentials_.Known();
  if (!credentials) return;
  ReplaceSecret(text, credentials->token);
  ReplaceSecret(text, Base64(credentials->account_key));
  for (const auto& [name, value] : credentials->sas) {
    if (name != "sig") continue;
    ReplaceSecret(text, value);
    ReplaceSecret(text, UriEncode(value, false));
  }
}

}  // namespace timelake::store

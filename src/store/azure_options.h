#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/remote_options.h"
#include "store/url_text.h"

namespace timelake::store {

// What an az:// store was asked for, from storage options, then environment variables.
struct AzureOptions : RemoteOptions {
  std::string account;
  std::string endpoint;       // scheme://host[:port][/path], no slash at its end; never empty
  bool own_endpoint = false;  // not Azure's own
  bool emulator = false;
  bool probe = true;  // for If-None-Match, before the first write to an own endpoint
  bool anonymous = false;
  std::string account_key;  // raw bytes
  NameValues sas;           // parts of a shared access signature, decoded
  std::string token;        // an OAuth access token
  std::string client_id;
  std::string client_secret;
  std::string tenant_id;
  std::string authority_host = "https://login.microsoftonline.com";
  std::string federated_token_file;
  std::string msi_endpoint;
  std::string msi_header;  // IDENTITY_HEADER of App Service
  std::string object_id;
  std::string msi_resource_id;
  bool use_cli = false;
};

// As ParseS3Options. `host` is what stands behind '@' in abfss://container@host, or empty: it names
// the account.
Result<AzureOptions> ParseAzureOptions(const std::map<std::string, std::string>& options,
                                       const EnvLookup& env, std::string_view host);

// The key, signature or token that the callback gives.
struct AzureGiven {
  AzureOptions keys;  // only those
  int64_t expires_us = 0;
};
Result<AzureGiven> AskAzureCallback(const AzureOptions& options);

std::vector<std::string> AzureOptionNames();

}  // namespace timelake::store

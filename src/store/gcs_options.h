#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/remote_options.h"

namespace timelake::store {

// What a gs:// store was asked for, from storage options, then environment variables.
struct GcsOptions : RemoteOptions {
  std::string base_url = "https://storage.googleapis.com";  // no slash at its end
  bool own_endpoint = false;                                // base_url is not Google's
  bool probe = true;  // for ifGenerationMatch, before the first write to an own endpoint
  bool anonymous = false;
  std::string token;  // an OAuth access token
  int64_t token_expires_us = 0;
  std::string service_account_key;  // its JSON
  std::string credentials_file;     // of whatever kind
  std::string well_known_file;      // of gcloud: application_default_credentials.json
  std::string metadata_host = "metadata.google.internal";
  bool ask_metadata = true;
  EnvLookup env;  // what programs and AWS's sources of a credentials file look at
};

// As ParseS3Options. Reads the credentials file where one is named: that of an emulator names its
// endpoint.
Result<GcsOptions> ParseGcsOptions(const std::map<std::string, std::string>& options,
                                   const EnvLookup& env);

// The token that the callback gives.
Result<GcsOptions> AskGcsCallback(const GcsOptions& options);

std::vector<std::string> GcsOptionNames();

}  // namespace timelake::store

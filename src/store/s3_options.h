#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/remote_options.h"

namespace timelake::store {

// What an s3:// store was asked for, from storage options, then environment variables, then the
// shared profile files. docs/object-stores.md is the user's side of it.
struct S3Options : RemoteOptions {
  std::string access_key;  // empty: from the environment or a profile
  std::string secret_key;
  std::string session_token;
  std::string profile;         // as given by an option or AWS_PROFILE; empty: "default"
  bool profile_asked = false;  // by an option: then the profile comes before the environment's keys
  std::string region;
  std::string endpoint;  // scheme://host[:port], no slash at its end; empty: AWS
  std::optional<bool> virtual_hosted;
  bool anonymous = false;
  bool unsigned_payload = false;
  bool probe = true;             // for If-None-Match, before the first write
  std::string credentials_file;  // of the profiles; empty: ~/.aws/credentials
  std::string config_file;       // empty: ~/.aws/config
};

// kInvalidArgument for an unknown key, naming it and the accepted ones, and for a wrong value.
// Messages never hold a value that may be secret.
Result<S3Options> ParseS3Options(const std::map<std::string, std::string>& options,
                                 const EnvLookup& env);

// What the callback gives, as options. For s3_credentials.
struct S3Given {
  S3Options keys;  // only those
  int64_t expires_us = 0;
};
Result<S3Given> AskS3Callback(const S3Options& options);

// The accepted spellings of storage options, for messages and documentation.
std::vector<std::string> S3OptionNames();

}  // namespace timelake::store

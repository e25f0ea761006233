#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "store/s3_options.h"
#include "store/s3_sign.h"

// The shared files of AWS tools, ~/.aws/credentials and ~/.aws/config.

namespace timelake::store {

struct Profile {
  bool found = false;  // named in a file
  std::map<std::string, std::string> values;

  std::optional<std::string> Find(const std::string& name) const {
    const auto at = values.find(name);
    return at == values.end() ? std::nullopt : std::make_optional(at->second);
  }
};

// Section -> name -> value of such a file. Lines that belong to nothing are skipped.
std::map<std::string, std::map<std::string, std::string>> ParseProfileFile(std::string_view text);

// The options' profile, the credentials file over the config file. A missing file is an empty one.
Result<Profile> ReadProfile(const S3Options& options);

// Keys as options, environment and profile give them, in that order; an empty access key: none, the
// requests are not to be signed. kInvalidArgument when nothing gives any.
Result<S3Keys> ResolveKeys(const S3Options& options, const EnvLookup& env);

}  // namespace timelake::store

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "store/s3_options.h"

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

}  // namespace timelake::store

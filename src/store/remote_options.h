#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/http_client.h"

// Options of the stores that are reached over HTTP: from the user's storage options, then from
// environment variables. docs/object-stores.md is the user's side of it.

namespace timelake::store {

using EnvLookup = std::function<std::optional<std::string>(const std::string& name)>;
EnvLookup ProcessEnv();  // a variable that is set to nothing counts as not set

// Keys or a token, under the names that storage options have for them.
struct StorageKeys {
  std::map<std::string, std::string> keys;
  int64_t expires_us = 0;  // microseconds UTC since 1970; 0: they do not expire
};
using CredentialsCallback = std::function<Result<StorageKeys>()>;

// What every such store takes.
struct RemoteOptions {
  bool allow_http = false;
  int64_t max_retries = 10;
  int64_t retry_timeout_us = 60'000'000;
  HttpOptions http;
  CredentialsCallback callback;  // null: credentials come from options and the environment
};

// One option. Storage options and variables are matched in lower and upper case; `set` gets the
// name as the user wrote it, for messages, which must not hold a value that may be secret.
struct OptionField {
  std::vector<std::string_view> spellings;  // in lower case; the first is the documented one
  std::vector<std::string_view> variables;  // the first that is set counts
  std::function<Status(std::string_view name, const std::string& value)> set;
  // One of several ways to say who one is: variables for the others do not count beside an option.
  bool way = false;
};

// Those of RemoteOptions: ca_bundle, connect_timeout, timeout, max_retries, retry_timeout.
std::vector<OptionField> RemoteFields(RemoteOptions* to);

// Says of the fields whose documented names are among `ways` that they are ways; see above.
void MarkWays(std::span<const std::string_view> ways, std::vector<OptionField>* fields);

// Sets each field from `options`, else from `env`. Returns the first spellings of those that were
// set. kInvalidArgument for an unknown name, naming it and the accepted ones, and for two spellings
// of one option. `store` is for messages: "an s3:// warehouse".
Result<std::set<std::string>> ApplyOptions(const std::vector<OptionField>& fields,
                                           const std::map<std::string, std::string>& options,
                                           const EnvLookup& env, std::string_view store);

// What the callback gives, set through `fields`, which are those of credentials.
Result<StorageKeys> AskCallback(const RemoteOptions& options,
                                const std::vector<OptionField>& fields, std::string_view store);

std::vector<std::string> SpellingsOf(const std::vector<OptionField>& fields);

// Setters for the usual kinds of value.
using OptionSetter = std::function<Status(std::string_view name, const std::string& value)>;
OptionSetter SetText(std::string* to);
OptionSetter SetTrimmed(std::string* to);
OptionSetter SetFlag(bool* to);
OptionSetter SetUrl(std::string* to);  // scheme://host[:port], without a slash at its end

Result<bool> ParseBool(std::string_view name, std::string_view value);

// `path`: whether one may stand behind the host.
Result<std::string> ParseUrl(std::string_view name, std::string_view value, bool path);

// kInvalidArgument if `url` is not encrypted and that was not allowed. `option` allows it.
Status CheckEncrypted(std::string_view url, bool allow_http, std::string_view option);

}  // namespace timelake::store

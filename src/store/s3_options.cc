#include "store/s3_options.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"
#include "store/s3_profile.h"

namespace timelake::store {
namespace {

enum class Field {
  kAccessKey,
  kSecretKey,
  kSessionToken,
  kProfile,
  kRegion,
  kEndpoint,
  kAllowHttp,
  kVirtualHosted,
  kPathStyle,
  kAnonymous,
  kUnsignedPayload,
  kConditionalPut,
  kProbe,
  kConnectTimeout,
  kTimeout,
  kMaxRetries,
  kRetryTimeout,
  kCaFile,
};

struct Spelling {
  std::string_view name;
  Field field;
};

// The first of each field is the one that messages and the documentation use.
constexpr std::array kSpellings = {
    Spelling{"aws_access_key_id", Field::kAccessKey},
    Spelling{"access_key_id", Field::kAccessKey},
    Spelling{"s3.access-key-id", Field::kAccessKey},
    Spelling{"aws_secret_access_key", Field::kSecretKey},
    Spelling{"secret_access_key", Field::kSecretKey},
    Spelling{"s3.secret-access-key", Field::kSecretKey},
    Spelling{"aws_session_token", Field::kSessionToken},
    Spelling{"aws_token", Field::kSessionToken},
    Spelling{"session_token", Field::kSessionToken},
    Spelling{"token", Field::kSessionToken},
    Spelling{"s3.session-token", Field::kSessionToken},
    Spelling{"aws_profile", Field::kProfile},
    Spelling{"profile", Field::kProfile},
    Spelling{"s3.profile-name", Field::kProfile},
    Spelling{"aws_region", Field::kRegion},
    Spelling{"region", Field::kRegion},
    Spelling{"aws_default_region", Field::kRegion},
    Spelling{"default_region", Field::kRegion},
    Spelling{"region_name", Field::kRegion},
    Spelling{"s3.region", Field::kRegion},
    Spelling{"aws_endpoint", Field::kEndpoint},
    Spelling{"aws_endpoint_url_s3", Field::kEndpoint},
    Spelling{"aws_endpoint_url", Field::kEndpoint},
    Spelling{"endpoint_url", Field::kEndpoint},
    Spelling{"endpoint", Field::kEndpoint},
    Spelling{"s3.endpoint", Field::kEndpoint},
    Spelling{"aws_allow_http", Field::kAllowHttp},
    Spelling{"allow_http", Field::kAllowHttp},
    Spelling{"aws_virtual_hosted_style_request", Field::kVirtualHosted},
    Spelling{"virtual_hosted_style_request", Field::kVirtualHosted},
    Spelling{"s3.force-virtual-addressing", Field::kVirtualHosted},
    Spelling{"s3.path-style-access", Field::kPathStyle},
    Spelling{"aws_skip_signature", Field::kAnonymous},
    Spelling{"skip_signature", Field::kAnonymous},
    Spelling{"s3.anonymous", Field::kAnonymous},
    Spelling{"aws_unsigned_payload", Field::kUnsignedPayload},
    Spelling{"unsigned_payload", Field::kUnsignedPayload},
    Spelling{"aws_conditional_put", Field::kConditionalPut},
    Spelling{"conditional_put", Field::kConditionalPut},
    Spelling{"timelake_probe_conditional_put", Field::kProbe},
    Spelling{"connect_timeout", Field::kConnectTimeout},
    Spelling{"s3.connect-timeout", Field::kConnectTimeout},
    Spelling{"timeout", Field::kTimeout},
    Spelling{"s3.request-timeout", Field::kTimeout},
    Spelling{"max_retries", Field::kMaxRetries},
    Spelling{"retry_timeout", Field::kRetryTimeout},
    Spelling{"aws_ca_bundle", Field::kCaFile},
};

// In this order; the first that is set counts.
struct Variable {
  std::string_view name;
  Field field;
};
constexpr std::array kVariables = {
    Variable{"AWS_REGION", Field::kRegion},
    Variable{"AWS_DEFAULT_REGION", Field::kRegion},
    Variable{"AWS_ENDPOINT_URL_S3", Field::kEndpoint},
    Variable{"AWS_ENDPOINT_URL", Field::kEndpoint},
    Variable{"AWS_ENDPOINT", Field::kEndpoint},
    Variable{"AWS_ALLOW_HTTP", Field::kAllowHttp},
    Variable{"AWS_VIRTUAL_HOSTED_STYLE_REQUEST", Field::kVirtualHosted},
    Variable{"AWS_SKIP_SIGNATURE", Field::kAnonymous},
    Variable{"AWS_UNSIGNED_PAYLOAD", Field::kUnsignedPayload},
    Variable{"AWS_CONDITIONAL_PUT", Field::kConditionalPut},
    Variable{"AWS_CA_BUNDLE", Field::kCaFile},
};

Result<bool> ParseBool(std::string_view name, std::string_view value) {
  const std::string text = ToLowerAscii(Trim(value));
  for (const char* yes : {"true", "1", "yes", "on"}) {
    if (text == yes) return true;
  }
  for (const char* no : {"false", "0", "no", "off"}) {
    if (text == no) return false;
  }
  return InvalidArgument("{} = {}: give true or false", name, Quote(value));
}

// "5s", "1500ms" or plain seconds.
Result<int64_t> ParseTimeMs(std::string_view name, std::string_view value) {
  const std::string_view text = Trim(value);
  auto number = ParseInt64(text.ends_with("ms")  ? text.substr(0, text.size() - 2)
                           : text.ends_with("s") ? text.substr(0, text.size() - 1)
                                                 : text);
  if (!number.ok() || *number <= 0 || *number > 86'400'000) {
    return InvalidArgument("{} = {}: give a time such as 30s or 500ms", name, Quote(value));
  }
  return text.ends_with("ms") ? *number : *number * 1000;
}

Result<std::string> ParseEndpoint(std::string_view name, std::string_view value) {
  std::string_view url = Trim(value);
  while (url.ends_with('/')) url.remove_suffix(1);
  const std::string lower = ToLowerAscii(url);
  const size_t host = lower.starts_with("http://") ? 7 : lower.starts_with("https://") ? 8 : 0;
  if (host == 0 || url.size() == host || url.find_first_of("/?#@ ", host) != url.npos) {
    return InvalidArgument("{} must be a URL such as https://host or http://host:9000", name);
  }
  return lower.substr(0, host) + std::string(url.substr(host));
}

Status SetField(S3Options* to, Field field, std::string_view name, const std::string& value) {
  const auto flag = [&](auto* target) -> Status {
    TL_ASSIGN_OR_RAISE(*target, ParseBool(name, value));
    return Status::OK();
  };
  switch (field) {
    case Field::kAccessKey: to->access_key = value; return Status::OK();
    case Field::kSecretKey: to->secret_key = value; return Status::OK();
    case Field::kSessionToken: to->session_token = value; return Status::OK();
    case Field::kProfile: to->profile = value; return Status::OK();
    case Field::kRegion: to->region = Trim(value); return Status::OK();
    case Field::kEndpoint: {
      TL_ASSIGN_OR_RAISE(to->endpoint, ParseEndpoint(name, value));
      return Status::OK();
    }
    case Field::kAllowHttp: return flag(&to->allow_http);
    case Field::kVirtualHosted: return flag(&to->virtual_hosted);
    case Field::kPathStyle: {
      TL_ASSIGN_OR_RAISE(const bool path_style, ParseBool(name, value));
      to->virtual_hosted = !path_style;
      return Status::OK();
    }
    case Field::kAnonymous: return flag(&to->anonymous);
    case Field::kUnsignedPayload: return flag(&to->unsigned_payload);
    case Field::kConditionalPut:
      if (ToLowerAscii(Trim(value)) == "etag") return Status::OK();
      return InvalidArgument("{} = {}: only etag (If-None-Match) is safe here", name, Quote(value));
    case Field::kProbe: return flag(&to->probe);
    case Field::kConnectTimeout: {
      TL_ASSIGN_OR_RAISE(to->http.connect_timeout_ms, ParseTimeMs(name, value));
      return Status::OK();
    }
    case Field::kTimeout: {
      TL_ASSIGN_OR_RAISE(to->http.stall_timeout_ms, ParseTimeMs(name, value));
      return Status::OK();
    }
    case Field::kMaxRetries: {
      auto number = ParseInt64(Trim(value));
      if (!number.ok() || *number < 0 || *number > 1000) {
        return InvalidArgument("{} = {}: give 0 .. 1000", name, Quote(value));
      }
      to->max_retries = *number;
      return Status::OK();
    }
    case Field::kRetryTimeout: {
      TL_ASSIGN_OR_RAISE(const int64_t millis, ParseTimeMs(name, value));
      to->retry_timeout_us = millis * 1000;
      return Status::OK();
    }
    case Field::kCaFile: to->http.ca_file = value; return Status::OK();
  }
  return InternalError("storage option {} is not handled", name);
}

Result<std::map<Field, std::string>> FromOptions(const std::map<std::string, std::string>& options,
                                                 S3Options* to) {
  std::map<Field, std::string> given;  // field -> the spelling used
  for (const auto& [name, value] : options) {
    const std::string lower = ToLowerAscii(name);
    const auto* found = std::find_if(kSpellings.begin(), kSpellings.end(),
                                     [&](const Spelling& known) { return known.name == lower; });
    if (found == kSpellings.end()) {
      const auto names = S3OptionNames();
      const auto near = NearestName(lower, names);
      return InvalidArgument("unknown storage option {}{}; an s3:// warehouse takes {}",
                             Quote(name), near ? " (did you mean " + *near + "?)" : "",
                             Join(names, ", "));
    }
    const auto [before, fresh] = given.emplace(found->field, name);
    if (!fresh) {
      return InvalidArgument("storage options {} and {} say the same thing: give one of them",
                             before->second, name);
    }
    TL_RETURN_NOT_OK(WithContext(SetField(to, found->field, name, value), "storage option"));
  }
  return given;
}

Status Check(const S3Options& options) {
  if (options.access_key.empty() != options.secret_key.empty()) {
    return InvalidArgument(
        "storage option {} is given without {}",
        options.access_key.empty() ? "aws_secret_access_key" : "aws_access_key_id",
        options.access_key.empty() ? "aws_access_key_id" : "aws_secret_access_key");
  }
  if (!options.session_token.empty() && options.access_key.empty()) {
    return InvalidArgument("storage option aws_session_token is given without aws_access_key_id");
  }
  if (options.endpoint.starts_with("http://") && !options.allow_http) {
    return InvalidArgument(
        "the endpoint {} is not encrypted: allow that with the storage option aws_allow_http = "
        "true, or AWS_ALLOW_HTTP=true",
        options.endpoint);
  }
  return Status::OK();
}

}  // namespace

EnvLookup ProcessEnv() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == 0) return std::nullopt;
    return value;
  };
}

std::vector<std::string> S3OptionNames() {
  std::vector<std::string> names;
  for (const Spelling& spelling : kSpellings) names.emplace_back(spelling.name);
  return names;
}

Result<S3Options> ParseS3Options(const std::map<std::string, std::string>& options,
                                 const EnvLookup& env) {
  S3Options parsed;
  TL_ASSIGN_OR_RAISE(auto given, FromOptions(options, &parsed));
  for (const Variable& variable : kVariables) {
    const auto value = env(std::string(variable.name));
    if (!value || !given.emplace(variable.field, variable.name).second) continue;
    TL_RETURN_NOT_OK(WithContext(SetField(&parsed, variable.field, variable.name, *value),
                                 "environment variable"));
  }
  parsed.profile_asked = !parsed.profile.empty();
  if (!parsed.profile_asked) parsed.profile = env("AWS_PROFILE").value_or("");
  parsed.credentials_file = env("AWS_SHARED_CREDENTIALS_FILE").value_or("");
  parsed.config_file = env("AWS_CONFIG_FILE").value_or("");
  if (const auto home = env("HOME")) {
    if (parsed.credentials_file.empty()) parsed.credentials_file = *home + "/.aws/credentials";
    if (parsed.config_file.empty()) parsed.config_file = *home + "/.aws/config";
  }
  TL_ASSIGN_OR_RAISE(const Profile profile, ReadProfile(parsed));
  const std::pair<Field, const char*> of_profile[] = {{Field::kRegion, "region"},
                                                      {Field::kEndpoint, "endpoint_url"}};
  for (const auto& [field, name] : of_profile) {
    const auto value = profile.Find(name);
    if (!value || given.contains(field)) continue;
    TL_RETURN_NOT_OK(WithContext(SetField(&parsed, field, name, *value), "profile"));
  }
  if (parsed.region.empty()) parsed.region = "us-east-1";
  TL_RETURN_NOT_OK(Check(parsed));
  return parsed;
}

}  // namespace timelake::store

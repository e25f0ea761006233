#include "store/s3_profile.h"

#include <fstream>
#include <sstream>

#include "base/text.h"

namespace timelake::store {
namespace {

Result<std::string> ReadText(const std::string& path) {
  if (path.empty()) return "";
  std::ifstream file(path, std::ios::binary);
  if (!file) return "";
  std::stringstream text;
  text << file.rdbuf();
  if (file.bad()) return IoError("{}: cannot be read", path);
  return text.str();
}

// What a profile may ask for instead of keys, and this version does not do.
Status Beyond(const Profile& profile, const std::string& name) {
  for (const char* way : {"role_arn", "credential_process", "sso_session", "sso_start_url",
                          "web_identity_token_file"}) {
    if (profile.values.contains(way)) {
      return Unsupported(
          "profile {} gets its credentials by {}, which this version does not do: run "
          "`aws configure export-credentials --profile {} --format env` and pass what it prints",
          Quote(name), way, name);
    }
  }
  return InvalidArgument("profile {} has no aws_access_key_id and aws_secret_access_key",
                         Quote(name));
}

Result<std::optional<S3Keys>> KeysOfProfile(const S3Options& options) {
  const std::string name = options.profile.empty() ? "default" : options.profile;
  TL_ASSIGN_OR_RAISE(const Profile profile, ReadProfile(options));
  if (!profile.found) {
    if (options.profile.empty()) return std::nullopt;
    return InvalidArgument("there is no profile {} in {} and {}", Quote(name),
                           options.credentials_file, options.config_file);
  }
  const auto access = profile.Find("aws_access_key_id");
  const auto secret = profile.Find("aws_secret_access_key");
  if (!access || !secret) {
    if (options.profile.empty() && profile.values.empty()) return std::nullopt;
    return Beyond(profile, name);
  }
  return S3Keys{*access, *secret, profile.Find("aws_session_token").value_or("")};
}

}  // namespace

std::map<std::string, std::map<std::string, std::string>> ParseProfileFile(std::string_view text) {
  std::map<std::string, std::map<std::string, std::string>> sections;
  std::map<std::string, std::string>* section = nullptr;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view raw = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view line = Trim(raw);
    if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    if (line.starts_with('[')) {
      const size_t close = line.find(']');
      section = close == std::string_view::npos
                    ? nullptr
                    : &sections[std::string(Trim(line.substr(1, close - 1)))];
      continue;
    }
    // An indented line belongs to the value above it ("s3 =" and its sub-settings).
    const bool nested = raw.starts_with(' ') || raw.starts_with('\t');
    const size_t equals = line.find('=');
    if (section == nullptr || nested || equals == std::string_view::npos) continue;
    (*section)[ToLowerAscii(Trim(line.substr(0, equals)))] = Trim(line.substr(equals + 1));
  }
  return sections;
}

Result<Profile> ReadProfile(const S3Options& options) {
  const std::string name = options.profile.empty() ? "default" : options.profile;
  Profile profile;
  const auto take = [&](const auto& sections, const std::string& section) {
    const auto found = sections.find(section);
    if (found == sections.end()) return;
    profile.found = true;
    for (const auto& [key, value] : found->second) profile.values.emplace(key, value);
  };
  TL_ASSIGN_OR_RAISE(const std::string credentials, ReadText(options.credentials_file));
  take(ParseProfileFile(credentials), name);
  TL_ASSIGN_OR_RAISE(const std::string config, ReadText(options.config_file));
  const auto sections = ParseProfileFile(config);
  take(sections, "profile " + name);
  if (name == "default") take(sections, name);
  return profile;
}

Result<S3Keys> ResolveKeys(const S3Options& options, const EnvLookup& env) {
  if (options.anonymous) return S3Keys{};
  if (!options.access_key.empty()) {
    return S3Keys{options.access_key, options.secret_key, options.session_token};
  }
  if (!options.profile_asked) {
    const auto access = env("AWS_ACCESS_KEY_ID");
    const auto secret = env("AWS_SECRET_ACCESS_KEY");
    if (access && secret) return S3Keys{*access, *secret, env("AWS_SESSION_TOKEN").value_or("")};
    if (access || secret) {
      return InvalidArgument("only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set");
    }
  }
  TL_ASSIGN_OR_RAISE(auto keys, KeysOfProfile(options));
  if (keys) return *std::move(keys);
  return InvalidArgument(
      "no credentials for s3://: give the storage options aws_access_key_id and "
      "aws_secret_access_key, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or have a profile "
      "in {} (for public data: aws_skip_signature = true)",
      options.credentials_file.empty() ? "~/.aws/credentials" : options.credentials_file);
}

}  // namespace timelake::store

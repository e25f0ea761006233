#include "store/s3_options.h"

#include "base/text.h"
#include "store/s3_profile.h"

namespace timelake::store {
namespace {

std::vector<OptionField> KeyFields(S3Options* to) {
  return {
      {{"aws_access_key_id", "access_key_id", "s3.access-key-id"}, {}, SetText(&to->access_key)},
      {{"aws_secret_access_key", "secret_access_key", "s3.secret-access-key"},
       {},
       SetText(&to->secret_key)},
      {{"aws_session_token", "aws_token", "session_token", "token", "s3.session-token"},
       {},
       SetText(&to->session_token)},
  };
}

std::vector<OptionField> Fields(S3Options* to) {
  const auto addressing = [to](bool path_style) {
    return [=](std::string_view name, const std::string& value) -> Status {
      TL_ASSIGN_OR_RAISE(const bool yes, ParseBool(name, value));
      to->virtual_hosted = yes != path_style;
      return Status::OK();
    };
  };
  const auto conditional_put = [](std::string_view name, const std::string& value) {
    if (ToLowerAscii(Trim(value)) == "etag") return Status::OK();
    return InvalidArgument("{} = {}: only etag (If-None-Match) is safe here", name, Quote(value));
  };
  std::vector<OptionField> fields = KeyFields(to);
  const std::vector<OptionField> more = {
      {{"aws_profile", "profile", "s3.profile-name"}, {}, SetText(&to->profile)},
      {{"aws_region", "region", "aws_default_region", "default_region", "region_name", "s3.region"},
       {"AWS_REGION", "AWS_DEFAULT_REGION"},
       SetTrimmed(&to->region)},
      {{"aws_endpoint", "aws_endpoint_url_s3", "aws_endpoint_url", "endpoint_url", "endpoint",
        "s3.endpoint"},
       {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"},
       SetUrl(&to->endpoint)},
      {{"aws_allow_http", "allow_http"}, {"AWS_ALLOW_HTTP"}, SetFlag(&to->allow_http)},
      {{"aws_virtual_hosted_style_request", "virtual_hosted_style_request",
        "s3.force-virtual-addressing"},
       {"AWS_VIRTUAL_HOSTED_STYLE_REQUEST"},
       addressing(false)},
      {{"s3.path-style-access"}, {}, addressing(true)},
      {{"aws_skip_signature", "skip_signature", "s3.anonymous"},
       {"AWS_SKIP_SIGNATURE"},
       SetFlag(&to->anonymous)},
      {{"aws_unsigned_payload", "unsigned_payload"},
       {"AWS_UNSIGNED_PAYLOAD"},
       SetFlag(&to->unsigned_payload)},
      {{"aws_conditional_put", "conditional_put"}, {"AWS_CONDITIONAL_PUT"}, conditional_put},
      {{"timelake_probe_conditional_put"}, {}, SetFlag(&to->probe)},
  };
  fields.insert(fields.end(), more.begin(), more.end());
  for (OptionField& field : RemoteFields(to)) {
    if (field.spellings[0] == "ca_bundle") {
      field.spellings = {"aws_ca_bundle", "ca_bundle"};
      field.variables = {"AWS_CA_BUNDLE"};
    }
    if (field.spellings[0] == "connect_timeout") field.spellings.push_back("s3.connect-timeout");
    if (field.spellings[0] == "timeout") field.spellings.push_back("s3.request-timeout");
    fields.push_back(std::move(field));
  }
  return fields;
}

Status CheckKeys(const S3Options& options) {
  if (options.access_key.empty() != options.secret_key.empty()) {
    return InvalidArgument(
        "storage option {} is given without {}",
        options.access_key.empty() ? "aws_secret_access_key" : "aws_access_key_id",
        options.access_key.empty() ? "aws_access_key_id" : "aws_secret_access_key");
  }
  if (!options.session_token.empty() && options.access_key.empty()) {
    return InvalidArgument("storage option aws_session_token is given without aws_access_key_id");
  }
  return Status::OK();
}

Status Check(const S3Options& options) {
  TL_RETURN_NOT_OK(CheckKeys(options));
  return CheckEncrypted(options.endpoint, options.allow_http, "aws_allow_http");
}

}  // namespace

Result<S3Given> AskS3Callback(const S3Options& options) {
  S3Given given;
  TL_ASSIGN_OR_RAISE(const StorageKeys credentials,
                     AskCallback(options, KeyFields(&given.keys), "an s3:// warehouse"));
  Status status = CheckKeys(given.keys);
  if (status.ok() && given.keys.access_key.empty()) {
    status = InvalidArgument("it gives no aws_access_key_id and aws_secret_access_key");
  }
  TL_RETURN_NOT_OK(WithContext(status, "the credentials callback"));
  given.expires_us = credentials.expires_us;
  return given;
}

std::vector<std::string> S3OptionNames() {
  S3Options options;
  return SpellingsOf(Fields(&options));
}

Result<S3Options> ParseS3Options(const std::map<std::string, std::string>& options,
                                 const EnvLookup& env) {
  S3Options parsed;
  TL_ASSIGN_OR_RAISE(const auto given,
                     ApplyOptions(Fields(&parsed), options, env, "an s3:// warehouse"));
  parsed.profile_asked = !parsed.profile.empty();
  if (!parsed.profile_asked) parsed.profile = env("AWS_PROFILE").value_or("");
  parsed.credentials_file = env("AWS_SHARED_CREDENTIALS_FILE").value_or("");
  parsed.config_file = env("AWS_CONFIG_FILE").value_or("");
  if (const auto home = env("HOME")) {
    if (parsed.credentials_file.empty()) parsed.credentials_file = *home + "/.aws/credentials";
    if (parsed.config_file.empty()) parsed.config_file = *home + "/.aws/config";
  }
  TL_ASSIGN_OR_RAISE(const Profile profile, ReadProfile(parsed));
  if (const auto region = profile.Find("region"); region && !given.contains("aws_region")) {
    parsed.region = Trim(*region);
  }
  if (const auto url = profile.Find("endpoint_url"); url && !given.contains("aws_endpoint")) {
    TL_RETURN_NOT_OK(WithContext(SetUrl(&parsed.endpoint)("endpoint_url", *url), "profile"));
  }
  if (parsed.region.empty()) parsed.region = "us-east-1";
  TL_RETURN_NOT_OK(Check(parsed));
  return parsed;
}

}  // namespace timelake::store

#include "store/s3_credentials.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "store/credential_sources.h"
#include "store/digest.h"
#include "store/remote_error.h"
#include "store/s3_profile.h"
#include "store/s3_xml.h"

namespace timelake::store {
namespace {

constexpr int kLongestChain = 5;  // of source profiles

class Finder {
 public:
  Finder(const S3Options& options, const EnvLookup& env, Clock& clock)
      : options_(options),
        env_(env),
        clock_(clock),
        near_(NearBy(options.http)),
        far_(options.http) {}

  Result<S3Credentials> Find();

 private:
  using Found = std::optional<S3Credentials>;

  Result<Found> OfEnvironment() const;
  Result<Found> OfProfile(const std::string& name, bool asked, int depth);
  Result<S3Credentials> OfSource(const Profile& profile, const std::string& name, int depth);
  Result<S3Credentials> AssumeRole(const Profile& profile, const S3Keys& keys);
  Result<S3Credentials> WithWebIdentity(const std::string& role, const std::string& token_file,
                                        const std::string& session);
  Result<S3Credentials> AskSts(NameValues form, const S3Keys* keys);
  Result<Found> OfContainer();
  Result<Found> OfInstance();

  const S3Options& options_;
  const EnvLookup& env_;
  Clock& clock_;
  HttpClient near_;
  HttpClient far_;  // for STS
};

Result<Finder::Found> Finder::OfEnvironment() const {
  const auto access = env_("AWS_ACCESS_KEY_ID");
  const auto secret = env_("AWS_SECRET_ACCESS_KEY");
  if (!access && !secret) return Found();
  if (!access || !secret) {
    return InvalidArgument("only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set");
  }
  return Found(S3Credentials{{*access, *secret, env_("AWS_SESSION_TOKEN").value_or("")}, 0});
}

Result<Finder::Found> Finder::OfProfile(const std::string& name, bool asked, int depth) {
  S3Options of = options_;
  of.profile = name;
  TL_ASSIGN_OR_RAISE(const Profile profile, ReadProfile(of));
  if (!profile.found && asked) {
    return InvalidArgument("there is no profile {} in {} and {}", Quote(name),
                           options_.credentials_file, options_.config_file);
  }
  if (profile.values.contains("role_arn")) {
    TL_ASSIGN_OR_RAISE(auto found, OfSource(profile, name, depth));
    return Found(std::move(found));
  }
  const auto access = profile.Find("aws_access_key_id");
  const auto secret = profile.Find("aws_secret_access_key");
  if (access && secret) {
    const std::string token = profile.Find("aws_session_token").value_or("");
    return Found(S3Credentials{{*access, *secret, token}, 0});
  }
  if (const auto command = profile.Find("credential_process")) {
    TL_ASSIGN_OR_RAISE(const std::string text, OutputOf(*command, "credential_process"));
    TL_ASSIGN_OR_RAISE(auto found, ParseCredentialsJson(text, "credential_process"));
    return Found(std::move(found));
  }
  for (const char* way : {"sso_session", "sso_start_url"}) {
    if (!profile.values.contains(way)) continue;
    return Unsupported(
        "profile {} signs in by {}, which this version does not do: give it the line "
        "credential_process = aws configure export-credentials --profile {}",
        Quote(name), way, name);
  }
  if (!asked && !access && !secret) return Found();
  return InvalidArgument("profile {} has no aws_access_key_id and aws_secret_access_key",
                         Quote(name));
}

Result<S3Credentials> Finder::OfSource(const Profile& profile, const std::string& name, int depth) {
  const std::string role = *profile.Find("role_arn");
  if (const auto file = profile.Find("web_identity_token_file")) {
    return WithWebIdentity(role, *file, profile.Find("role_session_name").value_or("timelake"));
  }
  if (depth >= kLongestChain) {
    return InvalidArgument("profile {}: more than {} source profiles", Quote(name), kLongestChain);
  }
  Found source;
  if (const auto source_profile = profile.Find("source_profile")) {
    if (*source_profile == name) {  // its own keys are the source
      const auto access = profile.Find("aws_access_key_id");
      const auto secret = profile.Find("aws_secret_access_key");
      if (access && secret) source = S3Credentials{{*access, *secret, ""}, 0};
    } else {
      TL_ASSIGN_OR_RAISE(source, OfProfile(*source_profile, true, depth + 1));
    }
  } else if (const auto kind = profile.Find("credential_source")) {
    if (*kind == "Environment") {
      TL_ASSIGN_OR_RAISE(source, OfEnvironment());
    } else if (*kind == "EcsContainer") {
      TL_ASSIGN_OR_RAISE(source, OfContainer());
    } else if (*kind == "Ec2InstanceMetadata") {
      TL_ASSIGN_OR_RAISE(source, OfInstance());
    }
  }
  if (!source) {
    return InvalidArgument("profile {} has a role_arn, but its source gives no credentials",
                           Quote(name));
  }
  return AssumeRole(profile, source->keys);
}

Result<S3Credentials> Finder::AskSts(NameValues form, const S3Keys* keys) {
  form.emplace_back("Version", "2011-06-15");
  const char* domain = options_.region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  const std::string url = env_("AWS_ENDPOINT_URL_STS")
                              .value_or(fmt::format("https://sts.{}.{}", options_.region, domain));
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos) return InvalidArgument("AWS_ENDPOINT_URL_STS is no URL");
  if (url.starts_with("http://") && !options_.allow_http) {
    return InvalidArgument("AWS_ENDPOINT_URL_STS is not encrypted: aws_allow_http allows that");
  }
  const std::string body = QueryText(std::move(form));
  HttpRequest request;
  request.method = "POST";
  request.url = url + "/";
  request.headers = {{"content-type", "application/x-www-form-urlencoded"}};
  request.body = arrow::Buffer::FromString(body);
  if (keys != nullptr) {
    SignInput sign;
    sign.method = "POST";
    sign.path = "/";
    sign.payload_hash = Sha256Hex(body);
    sign.region = options_.region;
    sign.service = "sts";
    sign.now_us = clock_.NowMicros();
    request.headers.emplace_back("x-amz-date", AmzDate(sign.now_us));
    if (!keys->session_token.empty()) {
      request.headers.emplace_back("x-amz-security-token", keys->session_token);
    }
    sign.headers = request.headers;
    sign.headers.emplace_back("host", url.substr(scheme + 3));
    request.headers.emplace_back("authorization", Authorization(sign, *keys));
  }
  TL_ASSIGN_OR_RAISE(const HttpReply reply, AskForCredentials(&far_, request, "STS"));
  if (reply.status != 200) {
    return IoError("credentials: STS refused the role: HTTP {} {}", reply.status,
                   ParseRemoteError(reply).code);
  }
  return ParseCredentialsXml(reply.text(), "STS");
}

Result<S3Credentials> Finder::AssumeRole(const Profile& profile, const S3Keys& keys) {
  NameValues form = {{"Action", "AssumeRole"},
                     {"RoleArn", *profile.Find("role_arn")},
                     {"RoleSessionName", profile.Find("role_session_name").value_or("timelake")}};
  if (const auto id = profile.Find("external_id")) form.emplace_back("ExternalId", *id);
  if (const auto seconds = profile.Find("duration_seconds")) {
    form.emplace_back("DurationSeconds", *seconds);
  }
  if (profile.values.contains("mfa_serial")) {
    return Unsupported("the role {} asks for a one-time password, which cannot be given here",
                       *profile.Find("role_arn"));
  }
  return AskSts(std::move(form), &keys);
}

Result<S3Credentials> Finder::WithWebIdentity(const std::string& role,
                                              const std::string& token_file,
                                              const std::string& session) {
  TL_ASSIGN_OR_RAISE(const std::string token, ReadSecretFile(token_file, "the web identity token"));
  return AskSts({{"Action", "AssumeRoleWithWebIdentity"},
                 {"RoleArn", role},
                 {"RoleSessionName", session},
                 {"WebIdentityToken", token}},
                nullptr);
}

Result<Finder::Found> Finder::OfContainer() {
  std::string url;
  if (const auto relative = env_("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    url = "http://169.254.170.2" + *relative;
  } else if (const auto full = env_("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
    url = *full;
    if (!MayBeAsked(url)) {
      return InvalidArgument("AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor local");
    }
  } else {
    return Found();
  }
  HttpRequest request;
  request.method = "GET";
  request.url = url;
  if (const auto file = env_("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
    TL_ASSIGN_OR_RAISE(const std::string token, ReadSecretFile(*file, "the container's token"));
    request.headers.emplace_back("authorization", token);
  } else if (const auto token = env_("AWS_CONTAINER_AUTHORIZATION_TOKEN")) {
    request.headers.emplace_back("authorization", *token);
  }
  TL_ASSIGN_OR_RAISE(const HttpReply reply,
                     AskForCredentials(&near_, request, "the container's endpoint"));
  if (reply.status != 200) {
    return IoError("credentials: the container's endpoint answered HTTP {}", reply.status);
  }
  TL_ASSIGN_OR_RAISE(auto found, ParseCredentialsJson(reply.text(), "the container's endpoint"));
  return Found(std::move(found));
}

Result<Finder::Found> Finder::OfInstance() {
  if (ToLowerAscii(env_("AWS_EC2_METADATA_DISABLED").value_or("")) == "true") return Found();
  const std::string root =
      env_("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or("http://169.254.169.254");
  HttpRequest request;
  request.method = "PUT";
  request.url = root + "/latest/api/token";
  request.headers = {{"x-aws-ec2-metadata-token-ttl-seconds", "21600"}};
  request.body = arrow::Buffer::FromString("");
  const HttpResult token = near_.Do(request);
  // Not on such a machine, or its metadata are switched off.
  if (token.outcome != HttpOutcome::kReply || token.reply.status != 200) return Found();
  request.method = "GET";
  request.url = root + "/latest/meta-data/iam/security-credentials/";
  request.headers = {{"x-aws-ec2-metadata-token", std::string(token.reply.text())}};
  request.body = nullptr;
  TL_ASSIGN_OR_RAISE(const HttpReply roles,
                     AskForCredentials(&near_, request, "the instance's metadata"));
  if (roles.status == 404) return Found();  // an instance without a role
  const std::string role(Trim(roles.text().substr(0, roles.text().find('\n'))));
  if (roles.status != 200 || role.empty()) return Found();
  request.url += UriEncode(role, false);
  TL_ASSIGN_OR_RAISE(const HttpReply reply,
                     AskForCredentials(&near_, request, "the instance's metadata"));
  if (reply.status != 200) {
    return IoError("credentials: the instance's metadata answered HTTP {}", reply.status);
  }
  TL_ASSIGN_OR_RAISE(auto found, ParseCredentialsJson(reply.text(), "the instance's metadata"));
  return Found(std::move(found));
}

Result<S3Credentials> Finder::Find() {
  if (options_.callback) {
    TL_ASSIGN_OR_RAISE(const S3Given given, AskS3Callback(options_));
    const S3Options& keys = given.keys;
    return S3Credentials{{keys.access_key, keys.secret_key, keys.session_token}, given.expires_us};
  }
  if (options_.anonymous) return S3Credentials{};
  if (!options_.access_key.empty()) {
    return S3Credentials{{options_.access_key, options_.secret_key, options_.session_token}, 0};
  }
  Found found;
  if (!options_.profile_asked) {
    TL_ASSIGN_OR_RAISE(found, OfEnvironment());
    if (found) return *std::move(found);
    const auto file = env_("AWS_WEB_IDENTITY_TOKEN_FILE");
    const auto role = env_("AWS_ROLE_ARN");
    if (file && role) {
      return WithWebIdentity(*role, *file, env_("AWS_ROLE_SESSION_NAME").value_or("timelake"));
    }
  }
  const bool asked = !options_.profile.empty();
  TL_ASSIGN_OR_RAISE(found, OfProfile(asked ? options_.profile : "default", asked, 0));
  if (!found && !asked) {
    TL_ASSIGN_OR_RAISE(found, OfContainer());
  }
  if (!found && !asked) {
    TL_ASSIGN_OR_RAISE(found, OfInstance());
  }
  if (found) return *std::move(found);
  return InvalidArgument(
      "no credentials for s3://: give the storage options aws_access_key_id and "
      "aws_secret_access_key, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or have a profile "
      "in {} (for public data: aws_skip_signature = true)",
      options_.credentials_file.empty() ? "~/.aws/credentials" : options_.credentials_file);
}

// Complete keys, or an error that tells what is wrong, but not what they are.
Result<S3Credentials> Checked(S3Credentials found, const std::string& expires,
                              std::string_view source) {
  if (found.keys.access_key.empty() || found.keys.secret_key.empty()) {
    return IoError("credentials: the answer of {} holds no keys", source);
  }
  if (!expires.empty()) {
    auto at = ParseIsoSeconds(expires);
    if (!at.ok()) {
      return IoError("credentials: {} tells the expiry {}", source, Quote(expires));
    }
    found.expires_us = *at;
  }
  return found;
}

}  // namespace

Result<S3Credentials> ParseCredentialsJson(std::string_view text, std::string_view source) {
  const auto field = [&](const char* name) { return JsonField(text, name); };
  S3Credentials found;
  found.keys.access_key = field("AccessKeyId");
  found.keys.secret_key = field("SecretAccessKey");
  found.keys.session_token = field("SessionToken");
  if (found.keys.session_token.empty()) found.keys.session_token = field("Token");
  return Checked(std::move(found), field("Expiration"), source);
}

Result<S3Credentials> ParseCredentialsXml(std::string_view text, std::string_view source) {
  S3Credentials found;
  found.keys.access_key = FirstElement(text, "AccessKeyId");
  found.keys.secret_key = FirstElement(text, "SecretAccessKey");
  found.keys.session_token = FirstElement(text, "SessionToken");
  return Checked(std::move(found), FirstElement(text, "Expiration"), source);
}

Result<S3Credentials> FindCredentials(const S3Options& options, const EnvLookup& env,
                                      Clock& clock) {
  return Finder(options, env, clock).Find();
}

}  // namespace timelake::store

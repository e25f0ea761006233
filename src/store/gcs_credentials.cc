#include "store/gcs_credentials.h"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/civil_time.h"
#include "base/text.h"
#include "store/digest.h"
#include "store/gcs_subject.h"
#include "store/remote_error.h"

namespace timelake::store {
namespace {

using Json = nlohmann::json;

constexpr const char* kScope = "https://www.googleapis.com/auth/devstorage.read_write";
constexpr const char* kWideScope = "https://www.googleapis.com/auth/cloud-platform";
constexpr int64_t kLifetimeSeconds = 3600;  // the most that Google takes
constexpr int64_t kBackdateSeconds = 10;    // clocks differ

Status Missing(std::string_view name, std::string_view type) {
  return InvalidArgument("the credentials file of type {} has no {}", type, name);
}

class Finder {
 public:
  Finder(const GcsOptions& options, Clock& clock)
      : clock_(clock), options_(options), near_(NearBy(options.http)), far_(options.http) {}

  Result<AccessToken> Find();
  Result<AccessToken> OfFile(const Json& file);

 private:
  Result<AccessToken> OfServiceAccount(const Json& file) const;
  Result<AccessToken> OfUser(const Json& file);
  Result<AccessToken> OfExternalAccount(const Json& file);
  Result<AccessToken> Impersonate(const std::string& url, const std::string& token);
  Result<AccessToken> OfMetadataServer();

  Clock& clock_;
  const GcsOptions& options_;
  HttpClient near_;
  HttpClient far_;
};

Result<AccessToken> Finder::OfServiceAccount(const Json& file) const {
  const std::string email = TextField(file, "client_email");
  const std::string key = TextField(file, "private_key");
  if (email.empty()) return Missing("client_email", "service_account");
  if (key.empty()) return Missing("private_key", "service_account");
  const int64_t now = FloorDiv(clock_.NowMicros(), kMicrosPerSecond);
  Json header = {{"alg", "RS256"}, {"typ", "JWT"}};
  if (const std::string id = TextField(file, "private_key_id"); !id.empty()) header["kid"] = id;
  const Json claims = {{"iss", email},
                       {"sub", email},
                       {"scope", kScope},
                       {"iat", now - kBackdateSeconds},
                       {"exp", now + kLifetimeSeconds - kBackdateSeconds}};
  constexpr auto kReplace = Json::error_handler_t::replace;
  std::string token = Base64Url(header.dump(-1, ' ', false, kReplace)) + "." +
                      Base64Url(claims.dump(-1, ' ', false, kReplace));
  auto signature = SignRs256(key, token);
  if (!signature.ok()) {
    return WithContext(signature.status(), "the service account " + email);
  }
  token += "." + Base64Url(*signature);
  return AccessToken{std::move(token), (now + kLifetimeSeconds) * kMicrosPerSecond};
}

Result<AccessToken> Finder::OfUser(const Json& file) {
  NameValues form = {{"grant_type", "refresh_token"}};
  for (const char* name : {"client_id", "client_secret", "refresh_token"}) {
    form.emplace_back(name, TextField(file, name));
    if (form.back().second.empty()) return Missing(name, "authorized_user");
  }
  std::string url = TextField(file, "token_uri");
  if (url.empty()) url = "https://oauth2.googleapis.com/token";
  TL_RETURN_NOT_OK(CheckMayBeAsked(url));
  TL_ASSIGN_OR_RAISE(const HttpReply reply, PostForm(&far_, url, form, "Google's token endpoint"));
  return ParseAccessToken(reply.text(), clock_.NowMicros(), "Google's token endpoint");
}

Result<AccessToken> Finder::OfExternalAccount(const Json& file) {
  const std::string url = TextField(file, "token_url");
  const std::string audience = TextField(file, "audience");
  const std::string type = TextField(file, "subject_token_type");
  if (url.empty()) return Missing("token_url", "external_account");
  if (audience.empty()) return Missing("audience", "external_account");
  if (type.empty()) return Missing("subject_token_type", "external_account");
  TL_RETURN_NOT_OK(CheckMayBeAsked(url));
  const auto source = file.find("credential_source");
  if (source == file.end() || !source->is_object()) {
    return Missing("credential_source", "external_account");
  }
  TL_ASSIGN_OR_RAISE(const std::string subject, FindSubjectToken(file, options_, clock_));
  TL_ASSIGN_OR_RAISE(
      const HttpReply reply,
      PostForm(&far_, url,
               {{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
                {"audience", audience},
                {"scope", kWideScope},
                {"subject_token", subject},
                {"subject_token_type", type}},
               "Google's token exchange"));
  TL_ASSIGN_OR_RAISE(AccessToken token,
                     ParseAccessToken(reply.text(), clock_.NowMicros(), "Google's token exchange"));
  const std::string impersonate = TextField(file, "service_account_impersonation_url");
  if (impersonate.empty()) return token;
  return Impersonate(impersonate, token.token);
}

Result<AccessToken> Finder::Impersonate(const std::string& url, const std::string& token) {
  TL_RETURN_NOT_OK(CheckMayBeAsked(url));
  HttpRequest request;
  request.method = "POST";
  request.url = url;
  request.headers = {{"authorization", "Bearer " + token}, {"content-type", "application/json"}};
  request.body = arrow::Buffer::FromString(
      Json{{"scope", {kScope}}, {"lifetime", fmt::format("{}s", kLifetimeSeconds)}}.dump());
  const char* who = "Google's IAM";
  TL_ASSIGN_OR_RAISE(const HttpReply reply, AskForCredentials(&far_, request, who));
  if (reply.status != 200) {
    return IoError("credentials: {} refused to impersonate: HTTP {} {}", who, reply.status,
                   ParseRemoteError(reply).code);
  }
  AccessToken found{JsonField(reply.text(), "accessToken"), 0};
  if (found.token.empty()) return IoError("credentials: the answer of {} holds no token", who);
  const auto expires = ParseTimestamp(JsonField(reply.text(), "expireTime"));
  if (!expires.ok()) return IoError("credentials: {} does not tell the token's expiry", who);
  found.expires_us = expires->micros;
  return found;
}

Result<AccessToken> Finder::OfFile(const Json& file) {
  const std::string type = TextField(file, "type");
  if (type == "service_account") return OfServiceAccount(file);
  if (type == "authorized_user") return OfUser(file);
  if (type == "external_account") return OfExternalAccount(file);
  if (type == "impersonated_service_account") {
    const std::string url = TextField(file, "service_account_impersonation_url");
    const auto source = file.find("source_credentials");
    if (url.empty()) return Missing("service_account_impersonation_url", type);
    if (source == file.end() || TextField(*source, "type") == type) {
      return Missing("source_credentials", type);
    }
    TL_ASSIGN_OR_RAISE(const AccessToken token, OfFile(*source));
    return Impersonate(url, token.token);
  }
  return Unsupported(
      "the credentials file has the type {}: service_account, authorized_user, external_account "
      "and impersonated_service_account are done",
      Quote(type));
}

Result<AccessToken> Finder::OfMetadataServer() {
  HttpRequest request;
  request.method = "GET";
  request.url = "http://" + options_.metadata_host +
                "/computeMetadata/v1/instance/service-accounts/default/token";
  request.headers = {{"metadata-flavor", "Google"}};
  const HttpResult result = near_.Do(request);
  if (result.outcome != HttpOutcome::kReply) {  // not on such a machine
    return InvalidArgument(
        "no credentials for gs://: give the storage option google_service_account or "
        "google_application_credentials, set GOOGLE_APPLICATION_CREDENTIALS, or sign in with "
        "gcloud auth application-default login (for public data: google_skip_signature = true); "
        "the metadata server {} does not answer",
        options_.metadata_host);
  }
  if (result.reply.status != 200) {
    return IoError("credentials: the metadata server {} answered HTTP {}", options_.metadata_host,
                   result.reply.status);
  }
  return ParseAccessToken(result.reply.text(), clock_.NowMicros(), "the metadata server");
}

Result<Json> ParseFile(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return InvalidArgument("it is no JSON object");
  return json;
}

Result<AccessToken> Finder::Find() {
  if (options_.callback) {
    TL_ASSIGN_OR_RAISE(const GcsOptions given, AskGcsCallback(options_));
    return AccessToken{given.token, given.token_expires_us};
  }
  if (options_.anonymous) return AccessToken{};
  if (!options_.token.empty()) return AccessToken{options_.token, options_.token_expires_us};
  std::string text = options_.service_account_key;
  std::string name = "the option google_service_account_key";
  if (text.empty()) {
    std::string path = options_.credentials_file;
    std::error_code ignored;
    if (path.empty() && std::filesystem::exists(options_.well_known_file, ignored)) {
      path = options_.well_known_file;
    }
    if (!path.empty()) {
      TL_ASSIGN_OR_RAISE(text, ReadSecretFile(path, "the credentials file"));
      name = path;
    }
  }
  if (!text.empty()) {
    auto file = ParseFile(text);
    if (!file.ok()) return WithContext(file.status(), name);
    auto token = OfFile(*file);
    return token.ok() ? token : WithContext(token.status(), name);
  }
  if (options_.ask_metadata) return OfMetadataServer();
  return InvalidArgument(
      "no credentials for gs://: give the storage option google_service_account or "
      "google_application_credentials, or set GOOGLE_APPLICATION_CREDENTIALS");
}

}  // namespace

Result<AccessToken> FindGcsToken(const GcsOptions& options, Clock& clock) {
  return Finder(options, clock).Find();
}

Result<AccessToken> TokenOfGcsFile(std::string_view json, const GcsOptions& options, Clock& clock) {
  TL_ASSIGN_OR_RAISE(const Json file, ParseFile(json));
  return Finder(options, clock).OfFile(file);
}

}  // namespace timelake::store

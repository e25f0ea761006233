#include "store/gcs_options.h"

#include <array>

#include "base/civil_time.h"
#include "base/text.h"
#include "store/credential_sources.h"

namespace timelake::store {
namespace {

constexpr std::array<std::string_view, 5> kWays = {
    "google_oauth_access_token", "google_service_account", "google_service_account_key",
    "google_application_credentials", "google_skip_signature"};

// PyIceberg gives milliseconds since 1970.
OptionSetter SetMillis(int64_t* to) {
  return [=](std::string_view name, const std::string& value) -> Status {
    const auto millis = ParseInt64(Trim(value));
    if (!millis.ok() || *millis < 0 || *millis > 1'000'000'000'000'000) {
      return InvalidArgument("{} = {}: give milliseconds since 1970", name, Quote(value));
    }
    *to = *millis * kMicrosPerMilli;
    return Status::OK();
  };
}

std::vector<OptionField> KeyFields(GcsOptions* to) {
  return {
      {{"google_oauth_access_token", "google_token", "gcs.oauth2.token", "bearer_token", "token"},
       {"GOOGLE_OAUTH_ACCESS_TOKEN"},
       SetTrimmed(&to->token)},
      {{"gcs.oauth2.token-expires-at"}, {}, SetMillis(&to->token_expires_us)},
  };
}

std::vector<OptionField> Fields(GcsOptions* to) {
  const OptionSetter base_url = [to](std::string_view name, const std::string& value) -> Status {
    TL_ASSIGN_OR_RAISE(to->base_url, ParseUrl(name, value, true));
    to->own_endpoint = true;
    return Status::OK();
  };
  const std::vector<OptionField> more = {
      {{"google_service_account", "google_service_account_path", "service_account",
        "service_account_path"},
       {"GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "SERVICE_ACCOUNT"},
       SetText(&to->credentials_file)},
      {{"google_service_account_key", "service_account_key"},
       {"GOOGLE_SERVICE_ACCOUNT_KEY"},
       SetText(&to->service_account_key)},
      {{"google_application_credentials", "application_credentials"},
       {"GOOGLE_APPLICATION_CREDENTIALS"},
       [to](std::string_view /*name*/, const std::string& value) {
         // A service account that is named, too, comes first.
         if (to->credentials_file.empty()) to->credentials_file = value;
         return Status::OK();
       }},
      {{"google_skip_signature", "skip_signature", "gcs.anonymous"},
       {"GOOGLE_SKIP_SIGNATURE"},
       SetFlag(&to->anonymous)},
      {{"google_base_url", "base_url", "gcs.service.host", "gcs.endpoint"},
       {"GOOGLE_BASE_URL"},
       base_url},
      {{"google_allow_http", "allow_http"}, {"GOOGLE_ALLOW_HTTP"}, SetFlag(&to->allow_http)},
      {{"timelake_probe_conditional_put"}, {}, SetFlag(&to->probe)},
  };
  std::vector<OptionField> fields = KeyFields(to);
  fields.insert(fields.end(), more.begin(), more.end());
  for (OptionField& field : RemoteFields(to)) fields.push_back(std::move(field));
  MarkWays(kWays, &fields);
  return fields;
}

// As Google's client libraries have it: "localhost:9023", or a URL, perhaps with the path of the
// service. Who sets it has an emulator, which asks for no credentials.
Status UseEmulator(GcsOptions* to, std::string value) {
  if (value.find("://") == std::string::npos) value = "http://" + value;
  TL_ASSIGN_OR_RAISE(to->base_url, ParseUrl("STORAGE_EMULATOR_HOST", value, true));
  constexpr std::string_view kService = "/storage/v1";
  if (to->base_url.ends_with(kService)) {
    to->base_url.resize(to->base_url.size() - kService.size());
  }
  to->own_endpoint = true;
  to->allow_http = true;
  const bool credentials = !to->token.empty() || !to->service_account_key.empty() ||
                           !to->credentials_file.empty() || to->callback;
  to->anonymous = to->anonymous || !credentials;
  return Status::OK();
}

// As object_store (Rust) has it: the "service account" of an emulator names its endpoint, and that
// it wants no tokens.
Status UseHintsOfFile(GcsOptions* to, bool endpoint_given) {
  std::string text = to->service_account_key;
  if (text.empty() && !to->credentials_file.empty()) {
    TL_ASSIGN_OR_RAISE(text, ReadSecretFile(to->credentials_file, "the credentials file"));
  }
  if (text.empty()) return Status::OK();
  if (const std::string url = JsonField(text, "gcs_base_url"); !url.empty() && !endpoint_given) {
    TL_ASSIGN_OR_RAISE(to->base_url, ParseUrl("gcs_base_url", url, true));
    to->own_endpoint = true;
  }
  if (JsonField(text, "disable_oauth") == "true") to->anonymous = true;
  return Status::OK();
}

}  // namespace

std::vector<std::string> GcsOptionNames() {
  GcsOptions options;
  return SpellingsOf(Fields(&options));
}

Result<GcsOptions> ParseGcsOptions(const std::map<std::string, std::string>& options,
                                   const EnvLookup& env) {
  GcsOptions parsed;
  parsed.env = env;
  TL_ASSIGN_OR_RAISE(const auto given,
                     ApplyOptions(Fields(&parsed), options, env, "a gs:// warehouse"));
  TL_RETURN_NOT_OK(UseHintsOfFile(&parsed, given.contains("google_base_url")));
  if (const auto host = env("STORAGE_EMULATOR_HOST"); host && !given.contains("google_base_url")) {
    TL_RETURN_NOT_OK(
        WithContext(UseEmulator(&parsed, std::string(Trim(*host))), "environment variable"));
  }
  if (const auto folder = env("CLOUDSDK_CONFIG")) {
    parsed.well_known_file = *folder + "/application_default_credentials.json";
  } else if (const auto home = env("HOME")) {
    parsed.well_known_file = *home + "/.config/gcloud/application_default_credentials.json";
  }
  if (const auto host = env("GCE_METADATA_HOST")) parsed.metadata_host = Trim(*host);
  parsed.ask_metadata = ToLowerAscii(env("NO_GCE_CHECK").value_or("")) != "true";
  TL_RETURN_NOT_OK(CheckEncrypted(parsed.base_url, parsed.allow_http, "google_allow_http"));
  return parsed;
}

Result<GcsOptions> AskGcsCallback(const GcsOptions& options) {
  GcsOptions given;
  TL_ASSIGN_OR_RAISE(const StorageKeys credentials,
                     AskCallback(options, KeyFields(&given), "a gs:// warehouse"));
  if (given.token.empty()) {
    return InvalidArgument("the credentials callback: it gives no google_oauth_access_token");
  }
  if (credentials.expires_us != 0) given.token_expires_us = credentials.expires_us;
  return given;
}

}  // namespace timelake::store

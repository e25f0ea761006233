#include "store/azure_credentials.h"

#include "base/civil_time.h"
#include "base/text.h"
#include "store/credential_sources.h"

namespace timelake::store {
namespace {

constexpr const char* kResource = "https://storage.azure.com";
constexpr const char* kMetadata = "http://169.254.169.254/metadata/identity/oauth2/token";

AzureCredentials OfToken(const AccessToken& token) {
  return {"", {}, token.token, token.expires_us};
}

// Of the app `client_id` at Microsoft Entra; `proof` says that it is the app.
Result<AzureCredentials> AskEntra(const AzureOptions& options, NameValues proof, Clock& clock) {
  HttpClient http(options.http);
  NameValues form = {{"grant_type", "client_credentials"},
                     {"client_id", options.client_id},
                     {"scope", std::string(kResource) + "/.default"}};
  form.insert(form.end(), proof.begin(), proof.end());
  const std::string url =
      options.authority_host + "/" + UriEncode(options.tenant_id, false) + "/oauth2/v2.0/token";
  const char* who = "Microsoft Entra";
  TL_ASSIGN_OR_RAISE(const HttpReply reply, PostForm(&http, url, form, who));
  TL_ASSIGN_OR_RAISE(const AccessToken token,
                     ParseAccessToken(reply.text(), clock.NowMicros(), who));
  return OfToken(token);
}

Result<AzureCredentials> OfFederatedToken(const AzureOptions& options, Clock& clock) {
  if (options.client_id.empty() || options.tenant_id.empty()) {
    return InvalidArgument(
        "azure_federated_token_file is given without azure_client_id and azure_tenant_id");
  }
  TL_ASSIGN_OR_RAISE(const std::string token,
                     ReadSecretFile(options.federated_token_file, "the federated token file"));
  return AskEntra(
      options,
      {{"client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
       {"client_assertion", token}},
      clock);
}

Result<AzureCredentials> OfCli(Clock& clock) {
  const char* who = "az account get-access-token";
  TL_ASSIGN_OR_RAISE(const std::string text,
                     OutputOf(std::string(who) + " --output json --resource " + kResource, who));
  AccessToken token{JsonField(text, "accessToken"), 0};
  if (token.token.empty()) return IoError("credentials: the answer of {} holds no token", who);
  // Newer ones tell seconds since 1970 beside a local time; without them it is asked for again
  // soon.
  const auto expires = ParseInt64(JsonField(text, "expires_on"));
  token.expires_us =
      expires.ok() ? *expires * kMicrosPerSecond : clock.NowMicros() + 10 * kMicrosPerMinute;
  return OfToken(token);
}

// The machine's: instance metadata, or what App Service has in their place.
Result<AzureCredentials> OfManagedIdentity(const AzureOptions& options, Clock& clock) {
  const bool app_service = !options.msi_header.empty() && !options.msi_endpoint.empty();
  const std::string url = options.msi_endpoint.empty() ? kMetadata : options.msi_endpoint;
  NameValues query = {{"api-version", app_service ? "2019-08-01" : "2018-02-01"},
                      {"resource", kResource}};
  if (!options.client_id.empty()) query.emplace_back("client_id", options.client_id);
  if (!options.object_id.empty()) query.emplace_back("object_id", options.object_id);
  if (!options.msi_resource_id.empty()) {
    query.emplace_back(app_service ? "mi_res_id" : "msi_res_id", options.msi_resource_id);
  }
  HttpRequest request;
  request.method = "GET";
  request.url = url + "?" + QueryText(std::move(query));
  if (app_service) {
    request.headers = {{"x-identity-header", options.msi_header}};
  } else {
    request.headers = {{"metadata", "true"}};
  }
  HttpClient http(NearBy(options.http));
  const HttpResult result = http.Do(request);
  if (result.outcome != HttpOutcome::kReply) {
    return InvalidArgument(
        "no credentials for az://: give the storage option azure_storage_account_key, "
        "azure_storage_sas_key, azure_storage_token or azure_client_secret (with azure_client_id "
        "and azure_tenant_id), or azure_use_azure_cli = true after az login (for public data: "
        "azure_skip_signature = true); the machine has no managed identity");
  }
  if (result.reply.status != 200) {
    return IoError("credentials: the managed identity's endpoint answered HTTP {} {}",
                   result.reply.status, JsonField(result.reply.text(), "error"));
  }
  TL_ASSIGN_OR_RAISE(
      const AccessToken token,
      ParseAccessToken(result.reply.text(), clock.NowMicros(), "the managed identity's endpoint"));
  return OfToken(token);
}

}  // namespace

Result<AzureCredentials> FindAzureCredentials(const AzureOptions& options, Clock& clock) {
  if (options.callback) {
    TL_ASSIGN_OR_RAISE(AzureGiven given, AskAzureCallback(options));
    // One of them: the most specific.
    AzureOptions& keys = given.keys;
    if (!keys.token.empty()) return AzureCredentials{"", {}, keys.token, given.expires_us};
    if (!keys.sas.empty()) return AzureCredentials{"", keys.sas, "", given.expires_us};
    return AzureCredentials{keys.account_key, {}, "", given.expires_us};
  }
  if (options.anonymous) return AzureCredentials{};
  if (!options.token.empty()) return AzureCredentials{"", {}, options.token, 0};
  if (!options.account_key.empty()) return AzureCredentials{options.account_key, {}, "", 0};
  if (!options.client_secret.empty()) {
    if (options.client_id.empty() || options.tenant_id.empty()) {
      return InvalidArgument(
          "azure_client_secret is given without azure_client_id and azure_tenant_id");
    }
    return AskEntra(options, {{"client_secret", options.client_secret}}, clock);
  }
  if (!options.federated_token_file.empty()) return OfFederatedToken(options, clock);
  if (!options.sas.empty()) return AzureCredentials{"", options.sas, "", 0};
  if (options.use_cli) return OfCli(clock);
  return OfManagedIdentity(options, clock);
}

}  // namespace timelake::store

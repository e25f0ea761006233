#include "store/azure_options.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace timelake::store {
namespace {

constexpr std::array<std::string_view, 8> kWays = {
    "azure_storage_account_key",   "azure_storage_sas_key",
    "azure_storage_token",         "azure_storage_connection_string",
    "azure_storage_client_secret", "azure_federated_token_file",
    "azure_use_azure_cli",         "azure_skip_signature"};

// Azurite's, in its documentation.
constexpr std::string_view kEmulatorAccount = "devstoreaccount1";
constexpr std::string_view kEmulatorKey =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
constexpr std::string_view kEmulatorUrl = "http://127.0.0.1:10000";

Status SetKey(AzureOptions* to, std::string_view name, std::string_view value) {
  auto key = FromBase64(Trim(value));
  if (!key.ok() || key->empty()) {
    return InvalidArgument("{} is not the base64 text that the portal shows", name);
  }
  to->account_key = *std::move(key);
  return Status::OK();
}

// "?sv=2024-11-04&sig=...": values are percent-encoded in it.
Status SetSas(AzureOptions* to, std::string_view name, std::string_view value) {
  std::string_view rest = Trim(value);
  if (rest.starts_with('?')) rest.remove_prefix(1);
  NameValues pairs;
  bool signed_ = false;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return InvalidArgument("{} must be a shared access signature: sv=...&sig=...", name);
    }
    pairs.emplace_back(UriDecode(pair.substr(0, equals)), UriDecode(pair.substr(equals + 1)));
    signed_ = signed_ || pairs.back().first == "sig";
  }
  if (!signed_) {
    return InvalidArgument("{} must be a shared access signature: sv=...&sig=...", name);
  }
  to->sas = std::move(pairs);
  return Status::OK();
}

using Setter = Status (*)(AzureOptions*, std::string_view, std::string_view);
OptionSetter With(AzureOptions* to, Setter set) {
  return [=](std::string_view name, const std::string& value) { return set(to, name, value); };
}

Status SetEndpoint(AzureOptions* to, std::string_view name, std::string_view value) {
  TL_ASSIGN_OR_RAISE(to->endpoint, ParseUrl(name, value, true));
  to->own_endpoint = true;
  return Status::OK();
}

// "AccountName=...;AccountKey=...;EndpointSuffix=..."
Status SetConnectionString(AzureOptions* to, std::string_view name, std::string_view value) {
  std::string protocol = "https";
  std::string suffix;
  for (std::string_view rest = Trim(value); !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (Trim(part).empty()) continue;
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return InvalidArgument("{} must be AccountName=...;AccountKey=...", name);
    }
    const std::string key = ToLowerAscii(Trim(part.substr(0, equals)));
    const std::string_view text = part.substr(equals + 1);
    if (key == "accountname") {
      to->account = text;
    } else if (key == "accountkey") {
      TL_RETURN_NOT_OK(SetKey(to, "AccountKey", text));
    } else if (key == "sharedaccesssignature") {
      TL_RETURN_NOT_OK(SetSas(to, "SharedAccessSignature", text));
    } else if (key == "blobendpoint") {
      TL_RETURN_NOT_OK(SetEndpoint(to, "BlobEndpoint", text));
    } else if (key == "endpointsuffix") {
      suffix = text;
    } else if (key == "defaultendpointsprotocol") {
      protocol = ToLowerAscii(text);
    } else if (key == "usedevelopmentstorage") {
      to->emulator = ToLowerAscii(text) == "true";
    }
  }
  if (!suffix.empty() && to->endpoint.empty() && !to->account.empty()) {
    return SetEndpoint(to, "EndpointSuffix",
                       fmt::format("{}://{}.blob.{}", protocol, to->account, suffix));
  }
  return Status::OK();
}

std::vector<OptionField> KeyFields(AzureOptions* to) {
  return {
      {{"azure_storage_account_key", "azure_storage_access_key", "azure_storage_master_key",
        "account_key", "access_key", "master_key", "adls.account-key"},
       {"AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_KEY",
        "AZURE_STORAGE_MASTER_KEY"},
       With(to, SetKey)},
      {{"azure_storage_sas_key", "azure_storage_sas_token", "sas_key", "sas_token",
        "adls.sas-token"},
       {"AZURE_STORAGE_SAS_KEY", "AZURE_STORAGE_SAS_TOKEN"},
       With(to, SetSas)},
      {{"azure_storage_token", "bearer_token", "token", "adls.token"},
       {"AZURE_STORAGE_TOKEN"},
       SetTrimmed(&to->token)},
  };
}

std::vector<OptionField> Fields(AzureOptions* to) {
  const std::vector<OptionField> more = {
      {{"azure_storage_connection_string", "connection_string", "adls.connection-string"},
       {"AZURE_STORAGE_CONNECTION_STRING"},
       With(to, SetConnectionString)},
      {{"azure_storage_account_name", "azure_storage_account", "account_name", "adls.account-name"},
       {"AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"},
       SetTrimmed(&to->account)},
      {{"azure_storage_client_id", "azure_client_id", "client_id", "adls.client-id"},
       {"AZURE_STORAGE_CLIENT_ID", "AZURE_CLIENT_ID"},
       SetTrimmed(&to->client_id)},
      {{"azure_storage_client_secret", "azure_client_secret", "client_secret",
        "adls.client-secret"},
       {"AZURE_STORAGE_CLIENT_SECRET", "AZURE_CLIENT_SECRET"},
       SetText(&to->client_secret)},
      {{"azure_storage_tenant_id", "azure_tenant_id", "azure_storage_authority_id",
        "azure_authority_id", "tenant_id", "authority_id", "adls.tenant-id"},
       {"AZURE_STORAGE_TENANT_ID", "AZURE_TENANT_ID", "AZURE_STORAGE_AUTHORITY_ID",
        "AZURE_AUTHORITY_ID"},
       SetTrimmed(&to->tenant_id)},
      {{"azure_authority_host", "azure_storage_authority_host", "authority_host"},
       {"AZURE_AUTHORITY_HOST", "AZURE_STORAGE_AUTHORITY_HOST"},
       SetUrl(&to->authority_host)},
      {{"azure_federated_token_file", "federated_token_file"},
       {"AZURE_FEDERATED_TOKEN_FILE"},
       SetText(&to->federated_token_file)},
      {{"azure_msi_endpoint", "azure_identity_endpoint", "identity_endpoint", "msi_endpoint"},
       {"AZURE_MSI_ENDPOINT", "AZURE_IDENTITY_ENDPOINT", "IDENTITY_ENDPOINT", "MSI_ENDPOINT"},
       SetTrimmed(&to->msi_endpoint)},
      {{"azure_object_id", "object_id"}, {"AZURE_OBJECT_ID"}, SetTrimmed(&to->object_id)},
      {{"azure_msi_resource_id", "msi_resource_id"},
       {"AZURE_MSI_RESOURCE_ID"},
       SetTrimmed(&to->msi_resource_id)},
      {{"azure_use_azure_cli", "use_azure_cli"}, {"AZURE_USE_AZURE_CLI"}, SetFlag(&to->use_cli)},
      {{"azure_storage_endpoint", "azure_endpoint", "endpoint"},
       {"AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"},
       With(to, SetEndpoint)},
      {{"azure_storage_use_emulator", "azure_use_emulator", "use_emulator"},
       {"AZURE_STORAGE_USE_EMULATOR", "AZURE_USE_EMULATOR"},
       SetFlag(&to->emulator)},
      {{"azure_skip_signature", "skip_signature"},
       {"AZURE_SKIP_SIGNATURE"},
       SetFlag(&to->anonymous)},
      {{"azure_allow_http", "allow_http"}, {"AZURE_ALLOW_HTTP"}, SetFlag(&to->allow_http)},
      {{"timelake_probe_conditional_put"}, {}, SetFlag(&to->probe)},
  };
  std::vector<OptionField> fields = KeyFields(to);
  fields.insert(fields.end(), more.begin(), more.end());
  for (OptionField& field : RemoteFields(to)) fields.push_back(std::move(field));
  MarkWays(kWays, &fields);
  return fields;
}

// An emulator has its accounts in the path, and a key that everybody knows.
Status UseEmulator(AzureOptions* to, const EnvLookup& env) {
  if (to->account.empty()) to->account = kEmulatorAccount;
  if (!to->own_endpoint) {
    const std::string url = env("AZURITE_BLOB_STORAGE_URL").value_or(std::string(kEmulatorUrl));
    TL_RETURN_NOT_OK(SetEndpoint(to, "AZURITE_BLOB_STORAGE_URL", url));
  }
  if (!to->endpoint.ends_with("/" + to->account)) to->endpoint += "/" + to->account;
  const bool keys = !to->account_key.empty() || !to->sas.empty() || !to->token.empty() ||
                    to->callback || to->anonymous;
  if (!keys && to->account == kEmulatorAccount) {
    TL_RETURN_NOT_OK(SetKey(to, "the emulator's key", kEmulatorKey));
  }
  to->allow_http = true;
  return Status::OK();
}

// "account.dfs.core.windows.net" of abfss://container@...: the Blob service is beside it.
Status UseHost(AzureOptions* to, std::string_view host) {
  const std::string account(host.substr(0, host.find('.')));
  if (!to->account.empty() && to->account != account) {
    return InvalidArgument(
        "the location names the account {}, and the storage option azure_storage_account_name {}",
        account, to->account);
  }
  to->account = account;
  const std::string_view rest = host.substr(account.size());
  for (const std::string_view kind : {".dfs.", ".blob."}) {
    if (!rest.starts_with(kind)) continue;
    if (to->endpoint.empty() && !to->emulator) {
      to->endpoint = fmt::format("https://{}.blob.{}", account, rest.substr(kind.size()));
    }
    return Status::OK();
  }
  return InvalidArgument(
      "the location names the host {}: write abfss://container@account.dfs.core.windows.net/folder",
      host);
}

}  // namespace

std::vector<std::string> AzureOptionNames() {
  AzureOptions options;
  return SpellingsOf(Fields(&options));
}

Result<AzureOptions> ParseAzureOptions(const std::map<std::string, std::string>& options,
                                       const EnvLookup& env, std::string_view host) {
  AzureOptions parsed;
  TL_RETURN_NOT_OK(ApplyOptions(Fields(&parsed), options, env, "an az:// warehouse").status());
  parsed.msi_header = env("IDENTITY_HEADER").value_or("");
  if (!host.empty()) TL_RETURN_NOT_OK(UseHost(&parsed, host));
  if (parsed.emulator) TL_RETURN_NOT_OK(UseEmulator(&parsed, env));
  if (parsed.account.empty()) {
    return InvalidArgument(
        "which account? Give the storage option azure_storage_account_name, set "
        "AZURE_STORAGE_ACCOUNT_NAME, or write abfss://container@account.dfs.core.windows.net/"
        "folder");
  }
  for (const char c : parsed.account) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-') continue;
    return InvalidArgument("the account {} is no name of one: small letters and digits",
                           Quote(parsed.account));
  }
  if (parsed.endpoint.empty()) {
    parsed.endpoint = fmt::format("https://{}.blob.core.windows.net", parsed.account);
  }
  TL_RETURN_NOT_OK(CheckEncrypted(parsed.endpoint, parsed.allow_http, "azure_allow_http"));
  TL_RETURN_NOT_OK(CheckEncrypted(parsed.authority_host, parsed.allow_http, "azure_allow_http"));
  return parsed;
}

Result<AzureGiven> AskAzureCallback(const AzureOptions& options) {
  AzureGiven given;
  TL_ASSIGN_OR_RAISE(const StorageKeys credentials,
                     AskCallback(options, KeyFields(&given.keys), "an az:// warehouse"));
  if (given.keys.account_key.empty() && given.keys.sas.empty() && given.keys.token.empty()) {
    return InvalidArgument(
        "the credentials callback: it gives none of azure_storage_token, azure_storage_sas_key and "
        "azure_storage_account_key");
  }
  given.expires_us = credentials.expires_us;
  return given;
}

}  // namespace timelake::store

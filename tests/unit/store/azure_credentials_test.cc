// Each source of Azure's credentials, against a server that plays the one who hands them out.

#include "store/azure_credentials.h"

#include <sys/stat.h>

#include <cstdlib>

#include <fmt/format.h>

#include "credentials_testing.h"

namespace timelake::store {
namespace {

class AzureCredentialsTest : public CredentialsTest {
 protected:
  void SetUp() override {
    env_["AZURE_STORAGE_ACCOUNT_NAME"] = "acct";
    env_["AZURE_ALLOW_HTTP"] = "true";
  }
  Result<AzureCredentials> Find(const Map& options = {}) {
    TL_ASSIGN_OR_RAISE(const AzureOptions parsed, ParseAzureOptions(options, EnvOf(env_), ""));
    return FindAzureCredentials(parsed, clock_);
  }
  std::string Failure(const Map& options = {}) { return Told(Find(options).status()); }
};

TEST_F(AzureCredentialsTest, AClientSecret) {
  Serve([](const FakeRequest& request) -> std::optional<FakeReply> {
    const std::string expected =
        "client_id=app&client_secret=S3CRET%2B1&grant_type=client_credentials&scope="
        "https%3A%2F%2Fstorage.azure.com%2F.default";
    if (request.path == "/tenant/oauth2/v2.0/token" && request.body == expected) {
      return Token("of the app");
    }
    return Text(R"({"error": "invalid_client", "error_description": "S3CRET"})", 401);
  });
  Map options = {{"azure_client_id", "app"},
                 {"azure_client_secret", "S3CRET+1"},
                 {"azure_tenant_id", "tenant"},
                 {"azure_authority_host", server_->endpoint()}};
  const AzureCredentials found = Must(Find(options));
  EXPECT_EQ(found.token, "of the app");
  EXPECT_NEAR(static_cast<double>(found.expires_us - clock_.NowMicros()), 3600e6, 60e6);
  options["azure_client_secret"] = "S3CRET-2";
  EXPECT_NE(Failure(options).find("HTTP 401 invalid_client"), std::string::npos);
  options.erase("azure_tenant_id");
  EXPECT_NE(Failure(options).find("azure_tenant_id"), std::string::npos);
  server_.reset();
  options["azure_tenant_id"] = "tenant";
  EXPECT_NE(Failure(options).find("Microsoft Entra does not answer"), std::string::npos);
}

TEST_F(AzureCredentialsTest, AWorkloadIdentity) {
  Serve([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool good =
        request.path == "/tenant/oauth2/v2.0/token" &&
        request.body.find("client_assertion=S3CRET-of-the-pod&") != std::string::npos &&
        request.body.find("client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3A") !=
            std::string::npos;
    return good ? Token("of the pod") : Text("{}", 400);
  });
  env_["AZURE_FEDERATED_TOKEN_FILE"] = File("token", "S3CRET-of-the-pod\n");
  env_["AZURE_CLIENT_ID"] = "app";
  env_["AZURE_TENANT_ID"] = "tenant";
  env_["AZURE_AUTHORITY_HOST"] = server_->endpoint() + "/";
  EXPECT_EQ(Must(Find()).token, "of the pod");
  env_["AZURE_FEDERATED_TOKEN_FILE"] = folder_.path() + "/none";
  EXPECT_NE(Failure().find("cannot be read"), std::string::npos);
  env_.erase("AZURE_CLIENT_ID");
  EXPECT_NE(Failure().find("azure_client_id"), std::string::npos);
}

TEST_F(AzureCredentialsTest, AManagedIdentity) {
  Serve([](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeRequest asked = request;
    const bool machine =
        asked.headers["metadata"] == "true" &&
        asked.path ==
            "/msi?api-version=2018-02-01&client_id=me&resource=https%3A%2F%2Fstorage.azure.com";
    const bool app = asked.headers["x-identity-header"] == "S3CRET-header" &&
                     asked.path.starts_with("/msi?api-version=2019-08-01&");
    if (!machine && !app) return Text(R"({"error": "invalid_request"})", 400);
    return Text(R"({"access_token": "of the )" + std::string(app ? "app" : "machine") +
                R"(", "expires_on": "4070908800", "expires_in": "7"})");
  });
  env_["AZURE_MSI_ENDPOINT"] = url("/msi");
  EXPECT_NE(Failure().find("HTTP 400 invalid_request"), std::string::npos);
  env_["AZURE_CLIENT_ID"] = "me";
  EXPECT_EQ(Must(Find()).token, "of the machine");
  EXPECT_EQ(Must(Find()).expires_us, int64_t{4070908800} * 1'000'000);
  env_["IDENTITY_HEADER"] = "S3CRET-header";
  EXPECT_EQ(Must(Find()).token, "of the app");
  server_.reset();
  EXPECT_NE(Failure().find("no credentials for az://"), std::string::npos);
}

TEST_F(AzureCredentialsTest, TheAzureCli) {
  const std::string program =
      File("az",
           "#!/bin/sh\n[ \"$1 $2\" = 'account get-access-token' ] || exit 3\n"
           "echo '{\"accessToken\": \"of az\", \"expires_on\": 4070908800}'\n");
  chmod(program.c_str(), 0700);
  const std::string before = std::getenv("PATH");
  setenv("PATH", (folder_.path() + ":" + before).c_str(), 1);
  const auto found = Find({{"azure_use_azure_cli", "true"}});
  File("az", "#!/bin/sh\nexit 1\n");
  const Status failed = Find({{"use_azure_cli", "true"}}).status();
  setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(Must(found).token, "of az");
  EXPECT_EQ(Must(found).expires_us, int64_t{4070908800} * 1'000'000);
  EXPECT_NE(Told(failed).find("az account get-access-token failed"), std::string::npos);
}

TEST_F(AzureCredentialsTest, OfOptions) {
  EXPECT_EQ(Must(Find({{"azure_storage_account_key", "a2V5"}})).account_key, "key");
  EXPECT_EQ(Must(Find({{"bearer_token", "t"}})).token, "t");
  const NameValues sas = Must(Find({{"sas_token", "?sv=2024&sig=a%2Fb%3D"}})).sas;
  EXPECT_EQ(sas, (NameValues{{"sv", "2024"}, {"sig", "a/b="}}));
  const auto anonymous = Must(Find({{"azure_skip_signature", "true"}}));
  EXPECT_TRUE(anonymous.token.empty() && anonymous.account_key.empty() && anonymous.sas.empty());
  for (const Map& wrong : {Map{{"account_key", "S3CRET!"}}, Map{{"sas_key", "S3CRET"}},
                           Map{{"sas_key", "sv=1&S3CRET"}}, Map{{"azure_tenantid", "S3CRET"}},
                           Map{{"connection_string", "S3CRET"}}}) {
    EXPECT_FALSE(Failure(wrong).empty());
  }
}

TEST_F(AzureCredentialsTest, AnOptionComesBeforeTheEnvironment) {
  env_["AZURE_STORAGE_TOKEN"] = "of the environment";
  env_["AZURE_STORAGE_ACCOUNT_KEY"] = "a2V5";
  EXPECT_EQ(Must(Find()).token, "of the environment");
  EXPECT_EQ(Must(Find({{"sas_key", "sv=1&sig=2"}})).sas.size(), 2u);
  EXPECT_EQ(Must(Find({{"azure_skip_signature", "true"}})).token, "");
  env_["AZURE_FEDERATED_TOKEN_FILE"] = folder_.path() + "/none";
  EXPECT_EQ(Must(Find({{"account_key", "b3RoZXI="}})).account_key, "other");
}

TEST_F(AzureCredentialsTest, OfACallback) {
  AzureOptions options = Must(ParseAzureOptions({}, EnvOf(env_), ""));
  StorageKeys given{{{"azure_storage_account_key", "a2V5"}}, 7};
  options.callback = [&]() -> Result<StorageKeys> { return given; };
  EXPECT_EQ(Must(FindAzureCredentials(options, clock_)).account_key, "key");
  EXPECT_EQ(Must(FindAzureCredentials(options, clock_)).expires_us, 7);
  given.keys = {{"azure_storage_sas_token", "sv=1&sig=2"}};
  EXPECT_EQ(Must(FindAzureCredentials(options, clock_)).sas.size(), 2u);
  given.keys = {{"azure_storage_token", "t"}};
  EXPECT_EQ(Must(FindAzureCredentials(options, clock_)).token, "t");
  given.keys = {};
  EXPECT_NE(Told(FindAzureCredentials(options, clock_).status()).find("it gives none"),
            std::string::npos);
  given.keys = {{"aws_access_key_id", "S3CRET"}};
  EXPECT_NE(Told(FindAzureCredentials(options, clock_).status()).find("aws_access_key_id"),
            std::string::npos);
}

TEST(AzureOptions, AccountsAndEndpoints) {
  const auto parse = [](const Map& options, const Map& env = {}, std::string_view host = "") {
    const auto parsed = ParseAzureOptions(options, EnvOf(env), host);
    return parsed.ok() ? parsed->account + " " + parsed->endpoint : MessageOf(parsed.status());
  };
  EXPECT_EQ(parse({{"account_name", "acct"}}), "acct https://acct.blob.core.windows.net");
  EXPECT_EQ(parse({}, {}, "acct.dfs.core.windows.net"), "acct https://acct.blob.core.windows.net");
  EXPECT_EQ(parse({}, {}, "acct.dfs.core.chinacloudapi.cn"),
            "acct https://acct.blob.core.chinacloudapi.cn");
  EXPECT_EQ(parse({{"azure_endpoint", "https://acct.example.com/x/"}},
                  {{"AZURE_STORAGE_ACCOUNT", "acct"}}),
            "acct https://acct.example.com/x");
  EXPECT_EQ(parse({{"azure_use_emulator", "true"}}),
            "devstoreaccount1 http://127.0.0.1:10000/devstoreaccount1");
  EXPECT_EQ(parse({{"use_emulator", "true"}}, {{"AZURITE_BLOB_STORAGE_URL", "http://h:1"}}),
            "devstoreaccount1 http://h:1/devstoreaccount1");
  EXPECT_EQ(parse({{"connection_string",
                    "DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=a2V5;"
                    "EndpointSuffix=core.windows.net"}}),
            "acct https://acct.blob.core.windows.net");
  EXPECT_EQ(parse({{"allow_http", "true"},
                   {"connection_string",
                    "AccountName=acct;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:1/acct;"}}),
            "acct http://127.0.0.1:1/acct");
  EXPECT_NE(parse({}).find("which account?"), std::string::npos);
  EXPECT_NE(parse({{"account_name", "a/b"}}).find("no name of one"), std::string::npos);
  EXPECT_NE(parse({{"account_name", "other"}}, {}, "acct.dfs.core.windows.net").find("other"),
            std::string::npos);
  EXPECT_NE(parse({}, {}, "acct.example.com").find("abfss://"), std::string::npos);
  EXPECT_NE(parse({{"account_name", "a"}, {"azure_endpoint", "http://h"}}).find("azure_allow_http"),
            std::string::npos);
}

}  // namespace
}  // namespace timelake::store

// Each source of Google's tokens, against a server that plays the one who hands them out.

#include "store/gcs_credentials.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/civil_time.h"
#include "credentials_testing.h"
#include "store/digest.h"
#include "store/url_text.h"

namespace timelake::store {
namespace {

// Made for this test; opens nothing.
constexpr const char* kKey = R"(-----BEGIN PRIVATE KEY-----
MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBALP4M/ityxxftXg+
V6oJLfrpHudekxJDHK/JelyTcz4a9kwEVrxcrg8YJswrhhyry8v7s2jKshBLLifb
EmB6Tjeh4zwePt6+OovQXUJBd5Dlv81IYehOf02eMdaa4eDTKq+JB8hE6edPtEJQ
b76oQ9VFkF3Rv8eD6W1QVQoevJdZAgMBAAECgYEAk2J19XcmuoLrE6FCm77OyAg4
RdTe7vrFOHTw33Xlz/u2rwRyn+nqpfPqehQ+zaYnzVLBV9V/w/Y9w2gWgapH+Mly
GxY8qeBAUrC7WSiV/csX/3xNwmfu1+QorObQreCho4EPpbi/ZUEoAXM0h30Ue9So
ie81bbyEUBclcIsPpr0CQQDiDyd6HmHFBL4pHFe2EpbFMcn5Z4qaGPoLj95Dc6+g
od72xpP+l9uUrAHIEDXWnqmZUK5tKTRh3FTts4ZaHc0jAkEAy85Q8HbIavbWZC9q
k2lpQiPQt/NbFmiMzjz6kkqyYF6omNdQzkYJE3Gr3JzcenQPp4Pu8mvXpFVREnoF
se5nUwJAGuM4i9LfSCLHR3aCDjprymqgnlSNbMS5wPRMuHMjGZUHQwzdf3Oqf2Vy
FMywyqU2gPDSvlMfUuB1DYzD1yYiRwJBAKE+06TcpcaTEp5jMXP9w0yT34+aV2fM
QhLuBeV2edhrLAL437LDkGy005+Q75NmffgwFv3vusYGxkTTC+xxzYcCQC/S4FXo
eRXfLv77YSs0PjKOLZKlhp21GqX15ra8AvAP/5rI2cscGYIWvgzL3rzWqDtBL8nh
47SIPQFwFHScyCQ=
-----END PRIVATE KEY-----
)";
// openssl dgst -sha256 -sign, of "header.claims"
constexpr const char* kSignature =
    "ayHhNjIViCCQpJSM7JsvREzVf8wR8EJLXfWW0S+JkV+TC147dUk0KYOPpHj0sGnKtRq4MRpLN9hI97K3ukLyLXODjAmi"
    "A/nzIZoEHMTYq3IlewMmdZXjkBDCG+SAUFHD1PjU2IsgNbErE7aWW4IGehamHewEhNll9Ik91cafalw=";

class GcsCredentialsTest : public CredentialsTest {
 protected:
  Result<AccessToken> Find(const Map& options = {}) {
    TL_ASSIGN_OR_RAISE(const GcsOptions parsed, ParseGcsOptions(options, EnvOf(env_)));
    return FindGcsToken(parsed, clock_);
  }
  std::string Key(const Map& options = {}) { return Must(Find(options)).token; }
  std::string Failure(const Map& options = {}) { return Told(Find(options).status()); }
  std::string OfFile(const std::string& json) { return File("credentials.json", json); }
};

TEST(Rs256, SignsAsOpensslDoes) {
  EXPECT_EQ(Base64(Must(SignRs256(kKey, "header.claims"))), kSignature);
  for (const char* key : {"", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n"}) {
    EXPECT_EQ(KindOf(SignRs256(key, "x").status()), ErrorKind::kInvalidArgument) << key;
  }
}

TEST_F(GcsCredentialsTest, AServiceAccountSignsItsOwnToken) {
  nlohmann::json file = {{"type", "service_account"},
                         {"client_email", "me@project.iam"},
                         {"private_key_id", "kid1"},
                         {"private_key", kKey}};
  const std::string path = OfFile(file.dump());
  for (const char* option : {"google_service_account", "service_account_path",
                             "google_application_credentials", "application_credentials"}) {
    const AccessToken found = Must(Find({{option, path}}));
    const size_t first = found.token.find('.');
    const size_t second = found.token.find('.', first + 1);
    ASSERT_NE(second, std::string::npos);
    const auto part = [](std::string text) {
      std::replace(text.begin(), text.end(), '-', '+');
      std::replace(text.begin(), text.end(), '_', '/');
      text.append((4 - text.size() % 4) % 4, '=');
      return nlohmann::json::parse(Must(FromBase64(text)));
    };
    const auto header = part(found.token.substr(0, first));
    const auto claims = part(found.token.substr(first + 1, second - first - 1));
    EXPECT_EQ(header, nlohmann::json({{"alg", "RS256"}, {"typ", "JWT"}, {"kid", "kid1"}}));
    EXPECT_EQ(claims["iss"], "me@project.iam");
    EXPECT_EQ(claims["sub"], "me@project.iam");
    EXPECT_LE(claims["exp"].get<int64_t>() - claims["iat"].get<int64_t>(), 3600);
    EXPECT_EQ(found.token.substr(second + 1),
              Base64Url(Must(SignRs256(kKey, found.token.substr(0, second)))));
    EXPECT_NEAR(static_cast<double>(found.expires_us - clock_.NowMicros()), 3600e6, 60e6);
  }
  EXPECT_FALSE(Key({{"google_service_account_key", file.dump()}}).empty());
  env_["GOOGLE_APPLICATION_CREDENTIALS"] = path;
  EXPECT_FALSE(Key().empty());
  file["private_key"] = "S3CRET";
  OfFile(file.dump());
  EXPECT_NE(Failure().find("me@project.iam"), std::string::npos);
  file.erase("client_email");
  OfFile(file.dump());
  EXPECT_NE(Failure().find("client_email"), std::string::npos);
}

TEST_F(GcsCredentialsTest, AnAuthorizedUser) {
  Serve([](const FakeRequest& request) -> std::optional<FakeReply> {
    const std::string expected =
        "client_id=id&client_secret=S3CRET-1&grant_type=refresh_token&refresh_token=S3CRET%2F2";
    if (request.method == "POST" && request.body == expected) return Token("of the user");
    return Text(R"({"error": "invalid_grant", "error_description": "S3CRET"})", 400);
  });
  const auto file = [&](const std::string& secret) {
    return OfFile(fmt::format(R"({{"type": "authorized_user", "client_id": "id", "client_secret": )"
                              R"("{}", "refresh_token": "S3CRET/2", "token_uri": "{}"}})",
                              secret, url("/token")));
  };
  env_["GOOGLE_APPLICATION_CREDENTIALS"] = file("S3CRET-1");
  EXPECT_EQ(Key(), "of the user");
  file("S3CRET-2");
  EXPECT_NE(Failure().find("HTTP 400 invalid_grant"), std::string::npos);
  env_.clear();  // that of gcloud
  env_["CLOUDSDK_CONFIG"] = folder_.path();
  File("application_default_credentials.json",
       std::string(Must(ReadSecretFile(file("S3CRET-1"), ""))));
  EXPECT_EQ(Key(), "of the user");
  File("application_default_credentials.json",
       R"({"type": "authorized_user", "client_id": "id", "client_secret": "S3CRET",)"
       R"( "refresh_token": "S3CRET", "token_uri": "http://example.com/token"})");
  EXPECT_NE(Failure().find("neither https nor local"), std::string::npos);
}

TEST_F(GcsCredentialsTest, TheMetadataServer) {
  Serve([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool asked =
        request.headers.contains("metadata-flavor") &&
        request.path == "/computeMetadata/v1/instance/service-accounts/default/token";
    return asked ? Token("of the machine") : Text("", 403);
  });
  env_["HOME"] = folder_.path();
  env_["GCE_METADATA_HOST"] = server_->endpoint().substr(7);
  EXPECT_EQ(Key(), "of the machine");
  EXPECT_NEAR(static_cast<double>(Must(Find()).expires_us - clock_.NowMicros()), 3600e6, 60e6);
  server_.reset();
  EXPECT_NE(Failure().find("no credentials for gs://"), std::string::npos);
  env_["NO_GCE_CHECK"] = "true";
  EXPECT_NE(Failure().find("no credentials for gs://"), std::string::npos);
}

TEST_F(GcsCredentialsTest, AnotherIdentityProvider) {
  Serve([this](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.path == "/subject") {
      const bool asked =
          request.headers.contains("x-key") && FakeRequest(request).headers["x-key"] == "S3CRET-k";
      return asked ? Text(R"({"id_token": "S3CRET-subject"})") : Text("", 401);
    }
    if (request.path == "/sts") {
      const bool good =
          request.body.find("subject_token=S3CRET-subject&") != std::string::npos &&
          request.body.find("audience=%2F%2Fiam%2Fpool") != std::string::npos &&
          request.body.find(
              "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange") !=
              std::string::npos;
      return good ? Token("exchanged") : Text(R"({"error": "invalid_request"})", 400);
    }
    if (request.path == "/impersonate") {
      if (FakeRequest(request).headers["authorization"] != "Bearer exchanged") return Text("", 401);
      return Text(R"({"accessToken": "of the account", "expireTime": "2099-01-01T00:00:00Z"})");
    }
    return Text("", 404);
  });
  const auto file = [&](const std::string& source, const std::string& more) {
    return OfFile(fmt::format(
        R"({{"type": "external_account", "audience": "//iam/pool", "subject_token_type": )"
        R"("urn:ietf:params:oauth:token-type:jwt", "token_url": "{}", "credential_source": {}{}}})",
        url("/sts"), source, more));
  };
  env_["GOOGLE_APPLICATION_CREDENTIALS"] = folder_.path() + "/credentials.json";
  file(fmt::format(R"({{"file": "{}"}})", File("subject", "S3CRET-subject\n")), "");
  EXPECT_EQ(Key(), "exchanged");
  file(fmt::format(R"({{"url": "{}", "headers": {{"X-Key": "S3CRET-k"}}, "format": {{"type": )"
                   R"("json", "subject_token_field_name": "id_token"}}}})",
                   url("/subject")),
       fmt::format(R"(, "service_account_impersonation_url": "{}")", url("/impersonate")));
  EXPECT_EQ(Key(), "of the account");
  EXPECT_EQ(Must(Find()).expires_us, *FromCivil({2099, 1, 1, 0, 0, 0, 0}));
  file(fmt::format(R"({{"file": "{}"}})", File("subject", "S3CRET-other")), "");
  EXPECT_NE(Failure().find("HTTP 400 invalid_request"), std::string::npos);
}

TEST_F(GcsCredentialsTest, AnImpersonatedServiceAccount) {
  Serve([](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.path == "/token") return Token("of the user");
    if (FakeRequest(request).headers["authorization"] != "Bearer of the user") return Text("", 401);
    return Text(R"({"accessToken": "of the account", "expireTime": "2099-01-01T00:00:00Z"})");
  });
  const std::string path = OfFile(fmt::format(
      R"({{"type": "impersonated_service_account", "service_account_impersonation_url": "{}",)"
      R"( "source_credentials": {{"type": "authorized_user", "client_id": "id",)"
      R"( "client_secret": "S3CRET", "refresh_token": "S3CRET", "token_uri": "{}"}}}})",
      url("/impersonate"), url("/token")));
  EXPECT_EQ(Key({{"google_application_credentials", path}}), "of the account");
}

TEST_F(GcsCredentialsTest, OptionsAndWhatIsNoCredentialsFile) {
  EXPECT_EQ(Key({{"google_oauth_access_token", "t"}}), "t");
  const AccessToken of_pyiceberg =
      Must(Find({{"gcs.oauth2.token", "t"}, {"gcs.oauth2.token-expires-at", "4070908800000"}}));
  EXPECT_EQ(of_pyiceberg.expires_us, *FromCivil({2099, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(Key({{"google_skip_signature", "true"}}), "");
  env_["GOOGLE_APPLICATION_CREDENTIALS"] = folder_.path() + "/none.json";
  EXPECT_NE(Failure().find("none.json cannot be read"), std::string::npos);
  env_["GOOGLE_APPLICATION_CREDENTIALS"] = OfFile("S3CRET");
  EXPECT_NE(Failure().find("it is no JSON object"), std::string::npos);
  OfFile(R"({"type": "gdch_service_account", "private_key": "S3CRET"})");
  EXPECT_NE(Failure().find("gdch_service_account"), std::string::npos);
}

TEST_F(GcsCredentialsTest, AnOptionComesBeforeTheEnvironment) {
  env_["GOOGLE_OAUTH_ACCESS_TOKEN"] = "of the environment";
  env_["GOOGLE_SERVICE_ACCOUNT"] = folder_.path() + "/none.json";
  EXPECT_NE(Failure().find("none.json"), std::string::npos);
  EXPECT_EQ(Key({{"google_token", "of the option"}}), "of the option");
  EXPECT_EQ(Key({{"google_skip_signature", "true"}}), "");
  env_.erase("GOOGLE_SERVICE_ACCOUNT");
  EXPECT_EQ(Key(), "of the environment");
}

TEST_F(GcsCredentialsTest, OfACallback) {
  int calls = 0;
  GcsOptions options = Must(ParseGcsOptions({{"google_token", "of the options"}}, EnvOf({})));
  options.callback = [&]() -> Result<StorageKeys> {
    if (++calls == 3) return IoError("the vault is closed");
    if (calls == 4) return StorageKeys{{{"azure_storage_token", "S3CRET"}}, 0};
    return StorageKeys{{{"google_oauth_access_token", "given"}}, calls == 2 ? 7 : 0};
  };
  EXPECT_EQ(Must(FindGcsToken(options, clock_)).token, "given");
  EXPECT_EQ(Must(FindGcsToken(options, clock_)).expires_us, 7);
  EXPECT_NE(Told(FindGcsToken(options, clock_).status()).find("the vault is closed"),
            std::string::npos);
  EXPECT_NE(Told(FindGcsToken(options, clock_).status()).find("azure_storage_token"),
            std::string::npos);
}

TEST(GcsOptions, EndpointsOfEmulators) {
  EXPECT_EQ(Must(ParseGcsOptions({}, EnvOf({}))).base_url, "https://storage.googleapis.com");
  for (const char* host :
       {"localhost:9023", "http://localhost:9023", "http://localhost:9023/storage/v1/"}) {
    const GcsOptions options = Must(ParseGcsOptions({}, EnvOf({{"STORAGE_EMULATOR_HOST", host}})));
    EXPECT_EQ(options.base_url, "http://localhost:9023") << host;
    EXPECT_TRUE(options.anonymous && options.own_endpoint) << host;
  }
  // As object_store has it.
  const GcsOptions of_file = Must(ParseGcsOptions(
      {{"service_account_key",
        R"({"gcs_base_url": "http://localhost:1", "disable_oauth": true, "client_email": ""})"},
       {"allow_http", "true"}},
      EnvOf({})));
  EXPECT_EQ(of_file.base_url, "http://localhost:1");
  EXPECT_TRUE(of_file.anonymous);
  const Status plain =
      ParseGcsOptions({{"google_base_url", "http://localhost:1"}}, EnvOf({})).status();
  EXPECT_NE(plain.message().find("google_allow_http"), std::string::npos) << plain;
  const Status unknown = ParseGcsOptions({{"google_tokn", "S3CRET"}}, EnvOf({})).status();
  EXPECT_NE(unknown.message().find("did you mean google_token"), std::string::npos) << unknown;
  EXPECT_EQ(unknown.message().find("S3CRET"), std::string::npos);
}

}  // namespace
}  // namespace timelake::store

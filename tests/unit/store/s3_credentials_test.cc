// Each source of credentials, against a server that plays the one who hands them out.

#include "store/s3_credentials.h"

#include <fstream>

#include <fmt/format.h>

#include "base/civil_time.h"
#include "base/random.h"
#include "fake_http_server.h"
#include "store/s3_store.h"
#include "store_testing.h"

namespace timelake::store {
namespace {

using Map = std::map<std::string, std::string>;

class ShiftedClock : public Clock {
 public:
  int64_t NowMicros() override { return SystemClock()->NowMicros() + shift_us; }
  int64_t BootMicros() override { return SystemClock()->BootMicros(); }
  void SleepMicros(int64_t) override {}
  std::atomic<int64_t> shift_us = 0;
};

std::string Json(const std::string& name, const std::string& expires = "2099-01-01T00:00:00Z") {
  return fmt::format(
      R"({{"Code": "Success", "AccessKeyId": "{0}", "SecretAccessKey": "S3CRET-{0}", )"
      R"("Token": "t-{0}", "Expiration": "{1}"}})",
      name, expires);
}

std::string Sts(const std::string& name) {
  return fmt::format(
      "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>{0}</AccessKeyId>"
      "<SecretAccessKey>S3CRET-{0}</SecretAccessKey><SessionToken>t-{0}</SessionToken><Expiration>"
      "2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>",
      name);
}

FakeReply Text(const std::string& body, int status = 200) { return {status, {}, body, false}; }

class S3CredentialsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    env_["AWS_CONFIG_FILE"] = folder_.path() + "/config";
    env_["AWS_SHARED_CREDENTIALS_FILE"] = folder_.path() + "/credentials";
    env_["AWS_EC2_METADATA_DISABLED"] = "true";
    env_["AWS_ALLOW_HTTP"] = "true";
  }
  void Serve(FakeHttpServer::Handler handler) {
    server_ = std::make_unique<FakeHttpServer>(std::move(handler));
  }
  std::string File(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() + "/" + name) << text;
    return folder_.path() + "/" + name;
  }
  EnvLookup Env() {
    return [this](const std::string& name) -> std::optional<std::string> {
      const auto found = env_.find(name);
      return found == env_.end() ? std::nullopt : std::make_optional(found->second);
    };
  }
  Result<S3Credentials> Find(const Map& options = {}) {
    TL_ASSIGN_OR_RAISE(const S3Options parsed, ParseS3Options(options, Env()));
    return FindCredentials(parsed, Env(), clock_);
  }
  std::string Key(const Map& options = {}) {
    const auto found = Find(options);
    return found.ok() ? found->keys.access_key + " " + found->keys.session_token
                      : MessageOf(found.status());
  }
  // An error that holds no secret.
  std::string Failure(const Map& options = {}) {
    const Status status = Find(options).status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.ToString().find("S3CRET"), std::string::npos) << status;
    return MessageOf(status);
  }

  TempFolder folder_;
  Map env_;
  ShiftedClock clock_;
  std::unique_ptr<FakeHttpServer> server_;
};

TEST_F(S3CredentialsTest, Instance) {
  Serve([](const FakeRequest& request) -> std::optional<FakeReply> {
    const std::string list = "/latest/meta-data/iam/security-credentials/";
    if (request.method == "PUT" && request.path == "/latest/api/token") return Text("session");
    const auto token = request.headers.find("x-aws-ec2-metadata-token");
    if (token == request.headers.end() || token->second != "session") return Text("", 401);
    if (request.path == list) return Text("my role\n");
    if (request.path == list + "my%20role") return Text(Json("instance"));
    return Text("", 404);
  });
  env_["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = server_->endpoint();
  EXPECT_NE(Failure().find("no credentials for s3://"), std::string::npos);  // disabled
  env_.erase("AWS_EC2_METADATA_DISABLED");
  EXPECT_EQ(Key(), "instance t-instance");
  EXPECT_EQ(Must(Find()).expires_us, *FromCivil({2099, 1, 1, 0, 0, 0, 0}));
  Serve([](const FakeRequest&) { return Text("", 403); });  // the first version only, or none
  env_["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = server_->endpoint();
  EXPECT_NE(Failure().find("no credentials for s3://"), std::string::npos);
}

TEST_F(S3CredentialsTest, Container) {
  Serve([](const FakeRequest& request) -> std::optional<FakeReply> {
    const auto token = request.headers.find("authorization");
    if (token == request.headers.end() || token->second != "of the pod") return Text("", 401);
    return request.path == "/v2/keys" ? Text(Json("container")) : Text("", 404);
  });
  env_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server_->endpoint() + "/v2/keys";
  EXPECT_NE(Failure().find("HTTP 401"), std::string::npos);
  env_["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "of the pod";
  EXPECT_EQ(Key(), "container t-container");
  env_["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = File("token", "of the pod\n");
  env_["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "another";
  EXPECT_EQ(Key(), "container t-container");
  for (const char* elsewhere : {"http://example.com/x", "http://127.0.0.1.example.com/",
                                "http://169.254.170.2@example.com/", "ftp://localhost/"}) {
    env_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = elsewhere;
    EXPECT_NE(Failure().find("neither https nor local"), std::string::npos) << elsewhere;
  }
}

TEST_F(S3CredentialsTest, Process) {
  File("config", "[default]\ncredential_process = cat " +
                     File("answer", R"({"Version": 1, "AccessKeyId": "p", "SecretAccessKey": "s",)"
                                    R"( "SessionToken": "tp"})") +
                     "\n[profile fails]\ncredential_process = exit 3\n"
                     "[profile babbles]\ncredential_process = echo S3CRET\n"
                     "[profile odd]\ncredential_process = echo '{\"AccessKeyId\": 7}'\n");
  EXPECT_EQ(Key(), "p tp");
  EXPECT_EQ(Must(Find()).expires_us, 0);
  EXPECT_NE(Failure({{"aws_profile", "fails"}}).find("failed with status"), std::string::npos);
  EXPECT_NE(Failure({{"aws_profile", "babbles"}}).find("holds no keys"), std::string::npos);
  EXPECT_NE(Failure({{"aws_profile", "odd"}}).find("holds no keys"), std::string::npos);
}

TEST_F(S3CredentialsTest, WebIdentity) {
  Serve([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool right =
        request.body.find("Action=AssumeRoleWithWebIdentity") != request.body.npos &&
        request.body.find("WebIdentityToken=a%2Bb") != request.body.npos &&
        request.body.find("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr") != request.body.npos &&
        !request.headers.contains("authorization");
    return right ? Text(Sts("web")) : Text("<E><Error><Code>Denied</Code></Error></E>", 403);
  });
  env_["AWS_ENDPOINT_URL_STS"] = server_->endpoint();
  env_["AWS_WEB_IDENTITY_TOKEN_FILE"] = File("token", "a+b\n");
  env_["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/r";
  EXPECT_EQ(Key(), "web t-web");
  File("token", "S3CRET");
  EXPECT_NE(Failure().find("STS refused the role: HTTP 403 Denied"), std::string::npos);
  env_["AWS_WEB_IDENTITY_TOKEN_FILE"] = folder_.path() + "/none";
  EXPECT_NE(Failure().find("cannot be read"), std::string::npos);
  env_["AWS_WEB_IDENTITY_TOKEN_FILE"] = File("token", "a+b\n");
  env_.erase("AWS_ALLOW_HTTP");
  EXPECT_NE(Failure().find("not encrypted"), std::string::npos);
}

TEST_F(S3CredentialsTest, RoleOfAnotherProfile) {
  Serve([](const FakeRequest& request) -> std::optional<FakeReply> {
    const auto signature = request.headers.find("authorization");
    if (signature == request.headers.end()) return Text("", 403);
    const std::string& text = signature->second;
    if (text.find("/eu-west-1/sts/aws4_request") == text.npos) return Text("", 403);
    if (text.find("Credential=base/") != text.npos &&
        request.body.find("ExternalId=x") != request.body.npos) {
      return Text(Sts("first"));
    }
    return text.find("Credential=first/") != text.npos ? Text(Sts("second")) : Text("", 403);
  });
  env_["AWS_ENDPOINT_URL_STS"] = server_->endpoint();
  env_["AWS_REGION"] = "eu-west-1";
  File("credentials", "[base]\naws_access_key_id = base\naws_secret_access_key = S3CRET\n");
  File("config",
       "[profile one]\nrole_arn = arn:1\nsource_profile = base\nexternal_id = x\n"
       "[profile two]\nrole_arn = arn:2\nsource_profile = one\n"
       "[profile loop]\nrole_arn = arn:3\nsource_profile = loop2\n"
       "[profile loop2]\nrole_arn = arn:3\nsource_profile = loop\n"
       "[profile env]\nrole_arn = arn:4\ncredential_source = Environment\nexternal_id = x\n"
       "[profile mfa]\nrole_arn = arn:5\nsource_profile = base\nmfa_serial = m\n"
       "[profile none]\nrole_arn = arn:6\n");
  EXPECT_EQ(Key({{"aws_profile", "one"}}), "first t-first");
  EXPECT_EQ(Key({{"aws_profile", "two"}}), "second t-second");
  EXPECT_NE(Failure({{"aws_profile", "loop"}}).find("source profiles"), std::string::npos);
  EXPECT_NE(Failure({{"aws_profile", "mfa"}}).find("one-time password"), std::string::npos);
  EXPECT_NE(Failure({{"aws_profile", "none"}}).find("gives no credentials"), std::string::npos);
  env_["AWS_ACCESS_KEY_ID"] = "base";
  env_["AWS_SECRET_ACCESS_KEY"] = "S3CRET";
  EXPECT_EQ(Key({{"aws_profile", "env"}}), "first t-first");
}

// Renewed before they expire; kept while they are good and nobody answers.
TEST_F(S3CredentialsTest, AreRenewed) {
  std::atomic<int> asked = 0;
  std::atomic<bool> silent = false;
  const auto in_ten_minutes = [&] {
    const CivilTime at = ToCivil(clock_.NowMicros() + 10 * kMicrosPerMinute);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", at.year, at.month, at.day, at.hour,
                       at.minute, at.second);
  };
  Serve([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.path == "/keys") {
      ++asked;
      return silent ? Text("", 500) : Text(Json(fmt::format("k{}", asked), in_ten_minutes()));
    }
    return FakeReply{
        200, {{"ETag", "\"e\""}, {"Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"}}, "x", false};
  });
  env_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server_->endpoint() + "/keys";
  env_["AWS_ENDPOINT_URL"] = server_->endpoint();
  const std::shared_ptr<Clock> clock(&clock_, [](Clock*) {});
  const auto store = MakeS3Store(Must(ParseS3Options({}, Env())), Env(), clock, SeededRandom(1));
  const auto signer = [&] {
    const auto got = store->Get("b/k");
    EXPECT_TRUE(got.ok()) << got.status();
    const std::string text = server_->requests().back().headers["authorization"];
    return text.substr(text.find("Credential=") + 11, 2);
  };
  EXPECT_EQ(signer(), "k1");
  EXPECT_EQ(signer(), "k1");
  EXPECT_EQ(asked, 1);
  clock_.shift_us += 6 * kMicrosPerMinute;
  EXPECT_EQ(signer(), "k2");
  clock_.shift_us += 6 * kMicrosPerMinute;
  silent = true;
  EXPECT_EQ(signer(), "k2");  // still good for four minutes
  clock_.shift_us += 6 * kMicrosPerMinute;
  EXPECT_FALSE(store->Get("b/k").ok());
  silent = false;
  EXPECT_NE(signer(), "k2");
}

}  // namespace
}  // namespace timelake::store

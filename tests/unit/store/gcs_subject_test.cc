// What proves to Google who one is elsewhere: programs, and the keys of AWS.

#include "store/gcs_subject.h"

#include <sys/stat.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/civil_time.h"
#include "credentials_testing.h"
#include "store/digest.h"
#include "store/gcs_credentials.h"
#include "store/run_program.h"
#include "store/s3_sign.h"
#include "store/url_text.h"

namespace timelake::store {
namespace {

using Json = nlohmann::json;

class GcsSubjectTest : public CredentialsTest {
 protected:
  // The credentials file with such a source; what it exchanges goes to the server.
  Result<AccessToken> Find(const Json& source, const Json& more = Json::object()) {
    Json file = {{"type", "external_account"},
                 {"audience", "//iam/pool"},
                 {"subject_token_type", "urn:ietf:params:oauth:token-type:id_token"},
                 {"token_url", url("/sts")},
                 {"credential_source", source}};
    file.update(more);
    TL_ASSIGN_OR_RAISE(const GcsOptions parsed,
                       ParseGcsOptions({{"google_service_account_key", file.dump()}}, EnvOf(env_)));
    return FindGcsToken(parsed, clock_);
  }
  std::string Failure(const Json& source) { return Told(Find(source).status()); }

  // The field `name` of a form.
  static std::string FormField(const std::string& body, const std::string& name) {
    const size_t at = ("&" + body).find("&" + name + "=");
    if (at == std::string::npos) return "";
    const size_t from = at + name.size() + 1;
    return UriDecode(body.substr(from, body.find('&', from) - from));
  }

  // Plays Google, and takes subject tokens that `good` does.
  void Exchange(std::function<bool(const std::string& subject)> good,
                FakeHttpServer::Handler others = {}) {
    Serve([=](const FakeRequest& request) -> std::optional<FakeReply> {
      if (request.path == "/sts") {
        if (good(FormField(request.body, "subject_token"))) return Token("exchanged");
        return Text(R"({"error": "invalid_request", "error_description": "S3CRET"})", 400);
      }
      return others ? others(request) : Text("", 404);
    });
  }

  std::string Program(const std::string& name, const std::string& text) {
    const std::string path = File(name, "#!/bin/sh\n" + text);
    EXPECT_EQ(chmod(path.c_str(), 0700), 0);
    return path;
  }
};

// --- programs ---

TEST_F(GcsSubjectTest, AProgramGivesTheToken) {
  Exchange([](const std::string& subject) { return subject == "S3CRET-//iam/pool-0-me@x.iam"; });
  env_["GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"] = "1";
  const std::string program = Program("give", R"([ "$1 $2" = "two words" ] || exit 3
token="S3CRET-$GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE-$GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE"
token="$token-$GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL"
echo '{"version": 1, "success": true, "token_type": "'$GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE'",'
echo ' "id_token": "'$token'"}'
)");
  const Json impersonate = {
      {"service_account_impersonation_url", url("/serviceAccounts/me@x.iam:generateAccessToken")}};
  // The account is not impersonated here: its server says so, after the exchange.
  const Status refused =
      Find({{"executable", {{"command", program + " two words"}}}}, impersonate).status();
  EXPECT_NE(Told(refused).find("refused to impersonate: HTTP 404"), std::string::npos) << refused;
  EXPECT_NE(Failure({{"executable", {{"command", program}}}}).find("failed with status 3"),
            std::string::npos);
  EXPECT_NE(Failure({{"executable", {{"command", "/none/such"}}}}).find("/none/such cannot be"),
            std::string::npos);
  EXPECT_NE(Failure({{"executable", {{"command", " "}}}}).find("names no program"),
            std::string::npos);
  EXPECT_NE(
      Failure({{"executable", {{"command", program}, {"timeout_millis", 100}}}}).find("5000 to"),
      std::string::npos);
  env_.clear();
  EXPECT_NE(Failure({{"executable", {{"command", program}}}}).find("ALLOW_EXECUTABLES=1"),
            std::string::npos);
}

TEST_F(GcsSubjectTest, AProgramsFileIsReadUntilItExpires) {
  Exchange([](const std::string& subject) { return subject.starts_with("S3CRET-"); });
  env_["GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"] = "1";
  const int64_t now = clock_.NowMicros() / kMicrosPerSecond;
  const auto answer = [](const std::string& token, int64_t expires) {
    return fmt::format(R"({{"version": 1, "success": true, "expiration_time": {}, "token_type": )"
                       R"("urn:ietf:params:oauth:token-type:saml2", "saml_response": "{}"}})",
                       expires, token);
  };
  const std::string calls = folder_.path() + "/calls";
  const Json source = {{"executable",
                        {{"command", Program("give", fmt::format("echo >> {}\necho '{}'\n", calls,
                                                                 answer("S3CRET-new", now + 600)))},
                         {"output_file", folder_.path() + "/answer"}}}};
  EXPECT_EQ(Must(Find(source)).token, "exchanged");  // there is no such file yet
  EXPECT_EQ(std::filesystem::file_size(calls), 1U);
  File("answer", answer("S3CRET-kept", now + 60));
  EXPECT_EQ(Must(Find(source)).token, "exchanged");
  EXPECT_EQ(std::filesystem::file_size(calls), 1U);  // not started again
  for (const std::string& useless : {answer("S3CRET-old", now - 1), std::string("S3CRET"),
                                     std::string(R"({"version": 1, "success": false})")}) {
    File("answer", useless);
    EXPECT_EQ(Must(Find(source)).token, "exchanged");
  }
  EXPECT_EQ(std::filesystem::file_size(calls), 4U);
}

TEST_F(GcsSubjectTest, WhatAProgramMayNotAnswer) {
  Exchange([](const std::string&) { return true; });
  env_["GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"] = "1";
  const std::string id = R"("token_type": "urn:ietf:params:oauth:token-type:jwt")";
  for (const auto& [answer, says] : Map{
           {"S3CRET", "no JSON object of version 1"},
           {R"({"version": 2, "success": true, "id_token": "S3CRET"})", "version 1"},
           {R"({"version": 1, "success": false, "code": "401", "message": "S3CRET"})", "401"},
           {R"({"version": 1, "success": true, "token_type": "magic", "id_token": "S3CRET"})",
            "magic"},
           {R"({"version": 1, "success": true, )" + id + "}", "holds no token"},
           {R"({"version": 1, "success": true, "expiration_time": 1, "id_token": "S3CRET", )" + id +
                "}",
            "has expired"},
       }) {
    const Json source = {{"executable", {{"command", Program("give", "echo '" + answer + "'\n")}}}};
    EXPECT_NE(Failure(source).find(says), std::string::npos) << answer;
  }
}

TEST(RunProgram, EndsWithItsTime) {
  EXPECT_EQ(Must(RunProgram({"sh", "-c", "echo $A; cat"}, {{"A", "b"}}, 60'000, "it")), "b\n");
  const Status late =
      RunProgram({"sh", "-c", "echo S3CRET; sleep 600 & sleep 600"}, {}, 100, "it").status();
  EXPECT_NE(late.message().find("it does not end within 100 ms"), std::string::npos) << late;
  EXPECT_EQ(late.message().find("S3CRET"), std::string::npos);
  EXPECT_NE(
      RunProgram({"sh", "-c", "kill -9 $$"}, {}, 60'000, "it").status().message().find("signal 9"),
      std::string::npos);
  EXPECT_EQ(KindOf(RunProgram({}, {}, 1, "it").status()), ErrorKind::kInvalidArgument);
}

// --- AWS ---

// Whether STS would take the request that the subject token describes.
bool Signed(const std::string& subject, const std::string& region, const S3Keys& keys) {
  const Json request = Json::parse(UriDecode(subject), nullptr, false);
  if (!request.is_object() || request["method"] != "POST") return false;
  const std::string host = "sts." + region + ".amazonaws.com";
  if (request["url"] != "https://" + host + "?Action=GetCallerIdentity&Version=2011-06-15") {
    return false;
  }
  Map headers;
  for (const Json& header : request["headers"]) {
    headers[header["key"].get<std::string>()] = header["value"].get<std::string>();
  }
  SignInput sign;
  sign.method = "POST";
  sign.path = "/";
  sign.query = {{"Action", "GetCallerIdentity"}, {"Version", "2011-06-15"}};
  sign.payload_hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";  // of ""
  sign.region = region;
  sign.service = "sts";
  const auto at = ParseTimestamp(
      headers["x-amz-date"].insert(13, ":").insert(11, ":").insert(6, "-").insert(4, "-"));
  sign.now_us = at.ok() ? at->micros : 0;
  sign.headers = {{"host", host},
                  {"x-amz-date", AmzDate(sign.now_us)},
                  {"x-goog-cloud-target-resource", "//iam/pool"}};
  if (!keys.session_token.empty()) {
    sign.headers.emplace_back("x-amz-security-token", keys.session_token);
  }
  return headers["host"] == host && headers["Authorization"] == Authorization(sign, keys) &&
         headers["x-goog-cloud-target-resource"] == "//iam/pool";
}

TEST_F(GcsSubjectTest, KeysOfAwsInTheEnvironment) {
  const S3Keys keys{"AKID", "S3CRET-key", "S3CRET-session"};
  Exchange([=](const std::string& subject) {
    return Signed(subject, "eu-west-1", keys) && subject.find("S3CRET-key") == std::string::npos;
  });
  env_ = {{"AWS_ACCESS_KEY_ID", keys.access_key},
          {"AWS_SECRET_ACCESS_KEY", keys.secret_key},
          {"AWS_SESSION_TOKEN", keys.session_token},
          {"AWS_REGION", "eu-west-1"}};
  Json source = {
      {"environment_id", "aws1"},
      {"regional_cred_verification_url",
       "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"}};
  EXPECT_EQ(Must(Find(source)).token, "exchanged");
  source.erase("regional_cred_verification_url");
  EXPECT_EQ(Must(Find(source)).token, "exchanged");
  env_["AWS_SECRET_ACCESS_KEY"] = "S3CRET-other";
  EXPECT_NE(Failure(source).find("HTTP 400 invalid_request"), std::string::npos);
  source["regional_cred_verification_url"] = "http://sts.{region}.example.com";
  EXPECT_NE(Failure(source).find("is not https"), std::string::npos);
  source["environment_id"] = "aws2";
  EXPECT_NE(Failure(source).find("aws2"), std::string::npos);
}

TEST_F(GcsSubjectTest, KeysOfAnInstanceOfAws) {
  const S3Keys keys{"AKID", "S3CRET-key", "S3CRET-session"};
  bool second_version = true;
  Exchange([=](const std::string& subject) { return Signed(subject, "us-east-2", keys); },
           [&](const FakeRequest& request) -> std::optional<FakeReply> {
             FakeRequest copy = request;
             if (request.path == "/token" && request.method == "PUT") {
               const bool asked = copy.headers.contains("x-aws-ec2-metadata-token-ttl-seconds");
               return asked ? Text("session\n") : Text("", 400);
             }
             if (second_version && copy.headers["x-aws-ec2-metadata-token"] != "session") {
               return Text("", 401);
             }
             if (request.path == "/zone") return Text("us-east-2b");
             if (request.path == "/keys") return Text("the role");
             if (request.path == "/keys/the%20role") {
               return Text(R"({"AccessKeyId": "AKID", "SecretAccessKey": "S3CRET-key", )"
                           R"("Token": "S3CRET-session", "Expiration": "2099-01-01T00:00:00Z"})");
             }
             return Text("", 404);
           });
  Json source = {{"environment_id", "aws1"},
                 {"region_url", url("/zone")},
                 {"url", url("/keys")},
                 {"imdsv2_session_token_url", url("/token")}};
  EXPECT_EQ(Must(Find(source)).token, "exchanged");
  source.erase("imdsv2_session_token_url");
  EXPECT_NE(Failure(source).find("the instance's metadata answered HTTP 401"), std::string::npos);
  second_version = false;
  EXPECT_EQ(Must(Find(source)).token, "exchanged");
  source.erase("region_url");
  EXPECT_NE(Failure(source).find("has no region_url"), std::string::npos);
  source["region_url"] = "http://example.com/zone";
  EXPECT_NE(Failure(source).find("neither https nor local"), std::string::npos);
}

TEST_F(GcsSubjectTest, CertificatesAreNotDone) {
  Exchange([](const std::string&) { return true; });
  EXPECT_EQ(KindOf(Find({{"certificate", {{"use_default_certificate_config", true}}}}).status()),
            ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace timelake::store

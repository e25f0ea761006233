#include "store/s3_options.h"

#include <fstream>

#include "base/clock.h"
#include "store/s3_credentials.h"
#include "store_testing.h"

namespace timelake::store {
namespace {

using Map = std::map<std::string, std::string>;

EnvLookup Env(Map values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::make_optional(found->second);
  };
}

S3Options Parse(const Map& options, const Map& env = {}) {
  return Must(ParseS3Options(options, Env(env)));
}

std::string Refusal(const Map& options, const Map& env = {}) {
  const Status status = ParseS3Options(options, Env(env)).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kInvalidArgument) << status;
  return MessageOf(status);
}

TEST(S3Options, SpellingsOfTheEcosystem) {
  for (const char* prefix : {"", "aws_", "AWS_"}) {
    const std::string p = prefix;
    const S3Options options = Parse({{p + "access_key_id", "a"},
                                     {p + "secret_access_key", "s"},
                                     {p + "session_token", "t"},
                                     {p + "region", "eu-west-1"},
                                     {p + "endpoint", "http://h:9000/"},
                                     {p + "allow_http", "true"},
                                     {p + "virtual_hosted_style_request", "TRUE"}});
    EXPECT_EQ(options.access_key, "a");
    EXPECT_EQ(options.secret_key, "s");
    EXPECT_EQ(options.session_token, "t");
    EXPECT_EQ(options.region, "eu-west-1");
    EXPECT_EQ(options.endpoint, "http://h:9000");
    EXPECT_EQ(options.virtual_hosted, true);
  }
  const S3Options of_pyiceberg = Parse({{"s3.access-key-id", "a"},
                                        {"s3.secret-access-key", "s"},
                                        {"s3.region", "r"},
                                        {"s3.endpoint", "https://h"},
                                        {"s3.path-style-access", "true"}});
  EXPECT_EQ(of_pyiceberg.endpoint, "https://h");
  EXPECT_EQ(of_pyiceberg.virtual_hosted, false);
  EXPECT_EQ(Parse({{"endpoint_url", "https://x"}}).endpoint, "https://x");
  EXPECT_EQ(Parse({{"timeout", "500ms"}}).http.stall_timeout_ms, 500);
  EXPECT_EQ(Parse({{"connect_timeout", "2"}}).http.connect_timeout_ms, 2000);
}

TEST(S3Options, UnknownKeysAreNamedWithTheAcceptedOnes) {
  const std::string text = Refusal({{"aws_acces_key_id", "SECRET"}});
  EXPECT_NE(text.find("\"aws_acces_key_id\" (did you mean aws_access_key_id?)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("aws_secret_access_key"), std::string::npos);
  EXPECT_EQ(text.find("SECRET"), std::string::npos);
}

TEST(S3Options, Refusals) {
  EXPECT_NE(Refusal({{"aws_access_key_id", "a"}}).find("aws_secret_access_key"), std::string::npos);
  EXPECT_NE(Refusal({{"aws_secret_access_key", "s"}}).find("aws_access_key_id"), std::string::npos);
  EXPECT_NE(Refusal({{"aws_region", "a"}, {"region", "b"}}).find("same thing"), std::string::npos);
  EXPECT_NE(Refusal({{"aws_endpoint", "http://h"}}).find("aws_allow_http"), std::string::npos);
  EXPECT_NE(Refusal({{"aws_allow_http", "maybe"}}).find("true or false"), std::string::npos);
  EXPECT_NE(Refusal({{"aws_conditional_put", "disabled"}}).find("etag"), std::string::npos);
  EXPECT_NE(Refusal({}, {{"AWS_ALLOW_HTTP", "maybe"}}).find("environment variable"),
            std::string::npos);
  for (const char* endpoint :
       {"h:9000", "ftp://h", "https://", "https://user:pw@h", "https://h/x"}) {
    const std::string text = Refusal({{"aws_endpoint", endpoint}});
    EXPECT_EQ(text.find("pw"), std::string::npos);
  }
}

TEST(S3Options, EnvironmentStandsBehindOptions) {
  const Map env = {{"AWS_REGION", "eu-north-1"},
                   {"AWS_DEFAULT_REGION", "x"},
                   {"AWS_ENDPOINT_URL", "https://all"},
                   {"AWS_ENDPOINT_URL_S3", "https://s3"}};
  EXPECT_EQ(Parse({}, env).region, "eu-north-1");
  EXPECT_EQ(Parse({}, env).endpoint, "https://s3");
  EXPECT_EQ(Parse({{"region", "r"}, {"endpoint", "https://o"}}, env).endpoint, "https://o");
  EXPECT_EQ(Parse({{"region", "r"}}, env).region, "r");
  EXPECT_EQ(Parse({}).region, "us-east-1");
  EXPECT_EQ(Parse({}, {{"AWS_ENDPOINT_URL", "http://h"}, {"AWS_ALLOW_HTTP", "1"}}).endpoint,
            "http://h");
}

class S3ProfileTest : public ::testing::Test {
 protected:
  S3ProfileTest() {
    std::filesystem::create_directory(folder_.path() + "/.aws");
    std::ofstream(folder_.path() + "/.aws/credentials")
        << "# comment\n[default]\naws_access_key_id = da\naws_secret_access_key=ds\n"
           "[work]\naws_access_key_id=wa\naws_secret_access_key=w=s\naws_session_token=wt\n";
    std::ofstream(folder_.path() + "/.aws/config")
        << "[default]\nregion = eu-west-3\ns3 =\n  addressing_style = path\n"
           "[profile work]\nregion=ap-south-1\nendpoint_url = https://work.example\n"
           "[profile sso]\nsso_session = ours\n";
    env_["HOME"] = folder_.path();
    env_["AWS_EC2_METADATA_DISABLED"] = "true";
  }
  Result<S3Keys> Keys(const Map& options) {
    TL_ASSIGN_OR_RAISE(const S3Options parsed, ParseS3Options(options, Env(env_)));
    TL_ASSIGN_OR_RAISE(const S3Credentials found,
                       FindCredentials(parsed, Env(env_), *SystemClock()));
    return found.keys;
  }
  TempFolder folder_;
  Map env_;
};

TEST_F(S3ProfileTest, OrderOfSources) {
  EXPECT_EQ(Must(Keys({})).access_key, "da");
  EXPECT_EQ(Parse({}, env_).region, "eu-west-3");
  env_["AWS_PROFILE"] = "work";
  EXPECT_EQ(Must(Keys({})).secret_key, "w=s");
  EXPECT_EQ(Must(Keys({})).session_token, "wt");
  EXPECT_EQ(Parse({}, env_).region, "ap-south-1");
  EXPECT_EQ(Parse({}, env_).endpoint, "https://work.example");
  env_["AWS_ACCESS_KEY_ID"] = "ea";
  EXPECT_NE(MessageOf(Keys({}).status()).find("only one of"), std::string::npos);
  env_["AWS_SECRET_ACCESS_KEY"] = "es";
  EXPECT_EQ(Must(Keys({})).access_key, "ea");
  EXPECT_EQ(Must(Keys({{"aws_profile", "work"}})).access_key, "wa");
  EXPECT_EQ(Must(Keys({{"aws_access_key_id", "o"}, {"aws_secret_access_key", "s"}})).access_key,
            "o");
  EXPECT_EQ(Must(Keys({{"aws_skip_signature", "true"}})).access_key, "");
}

TEST_F(S3ProfileTest, WhatIsMissingIsNamed) {
  EXPECT_NE(MessageOf(Keys({{"aws_profile", "nope"}}).status()).find("no profile \"nope\""),
            std::string::npos);
  const Status sso = Keys({{"aws_profile", "sso"}}).status();
  EXPECT_EQ(KindOf(sso), ErrorKind::kUnsupported);
  EXPECT_NE(MessageOf(sso).find("credential_process"), std::string::npos);
  env_["HOME"] = folder_.path() + "/elsewhere";
  EXPECT_NE(MessageOf(Keys({}).status()).find("no credentials for s3://"), std::string::npos);
}

}  // namespace
}  // namespace timelake::store

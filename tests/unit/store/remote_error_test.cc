#include "store/remote_error.h"

#include "store_testing.h"

namespace timelake::store {
namespace {

HttpReply Reply(int status, const std::string& body) {
  HttpReply reply;
  reply.status = status;
  reply.body = Bytes(body);
  return reply;
}

TEST(RemoteError, OfXml) {
  const RemoteError error = ParseRemoteError(
      Reply(404,
            "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>no &amp; no\nRequestId:1"
            "</Message></Error>"));
  EXPECT_EQ(error.code, "NoSuchKey");
  EXPECT_EQ(error.message, "no & no");
  EXPECT_FALSE(error.NoBucket());
  EXPECT_TRUE(
      ParseRemoteError(Reply(404, "<Error><Code>ContainerNotFound</Code></Error>")).NoBucket());
  EXPECT_EQ(ParseRemoteError(Reply(404, "")).code, "");
  EXPECT_EQ(ParseRemoteError(Reply(404, "<html>")).message, "");
}

TEST(RemoteError, OfJson) {
  const HttpReply google = Reply(
      412, R"({"error":{"code":412,"message":"no","errors":[{"reason":"conditionNotMet"}]}})");
  EXPECT_EQ(ParseRemoteError(google).code, "conditionNotMet");
  EXPECT_EQ(Describe(google), "HTTP 412 conditionNotMet: no");
  EXPECT_TRUE(ParseRemoteError(
                  Reply(404, R"({"error":{"message":"The specified bucket does not exist."}})"))
                  .NoBucket());
  EXPECT_EQ(Describe(Reply(400, R"({"error":"invalid_grant","error_description":"old"})")),
            "HTTP 400 invalid_grant: old");
  for (const char* odd : {"{", "{}", R"({"error":[]})", R"({"error":{"errors":[]}})",
                          R"({"error":{"errors":[7],"message":7}})"}) {
    EXPECT_EQ(Describe(Reply(400, odd)), "HTTP 400") << odd;
  }
}

TEST(RemoteError, ACodeThatIsNoNameIsNotShown) {
  for (const char* odd :
       {R"({"error":"client_secret=S3CRET"})", R"({"error":{"status":"S3 CRET"}})",
        "<Error><Code>GET /?sig=S3CRET</Code></Error>"}) {
    EXPECT_EQ(Describe(Reply(400, odd)), "HTTP 400") << odd;
  }
}

TEST(RemoteError, OfAHeader) {
  HttpReply reply = Reply(404, "");
  reply.headers["x-ms-error-code"] = "ContainerNotFound";
  EXPECT_TRUE(ParseRemoteError(reply).NoBucket());
  EXPECT_EQ(Describe(reply), "HTTP 404 ContainerNotFound");
}

TEST(RemoteError, WhatMayBeTriedAgain) {
  for (const int status : {408, 429, 500, 502, 503, 504}) {
    EXPECT_TRUE(IsTransient(Reply(status, ""))) << status;
  }
  for (const int status : {200, 301, 400, 403, 404, 409, 412, 501}) {
    EXPECT_FALSE(IsTransient(Reply(status, ""))) << status;
  }
  EXPECT_TRUE(IsTransient(Reply(400, "<Error><Code>RequestTimeout</Code></Error>")));
}

}  // namespace
}  // namespace timelake::store

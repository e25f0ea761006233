// Signature Version 4 against the vectors that AWS publishes: its test suite of signatures, and the
// examples in the S3 reference.

#include "store/s3_sign.h"
#include "store/digest.h"

#include <gtest/gtest.h>

#include "base/civil_time.h"

namespace timelake::store {
namespace {

constexpr const char* kEmptyHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

int64_t At(int year, int month, int day, int hour, int minute) {
  return *FromCivil({year, month, day, hour, minute, 0, 0});
}

SignInput Vanilla() {
  SignInput input;
  input.method = "GET";
  input.path = "/";
  input.headers = {{"x-amz-date", "20150830T123600Z"}, {"host", "example.amazonaws.com"}};
  input.payload_hash = kEmptyHash;
  input.region = "us-east-1";
  input.service = "service";
  input.now_us = At(2015, 8, 30, 12, 36);
  return input;
}

std::string Signature(const SignInput& input, const S3Keys& keys) {
  const std::string text = Authorization(input, keys);
  return text.substr(text.find("Signature=") + 10);
}

const S3Keys kSuiteKeys = {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
const S3Keys kExampleKeys = {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                             ""};

TEST(S3Sign, GetVanilla) {
  const SignInput input = Vanilla();
  EXPECT_EQ(CanonicalRequest(input),
            std::string("GET\n/\n\nhost:example.amazonaws.com\nx-amz-date:20150830T123600Z\n\n"
                        "host;x-amz-date\n") +
                kEmptyHash);
  EXPECT_EQ(StringToSign(input),
            "AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/service/aws4_request\n"
            "bb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63");
  EXPECT_EQ(Authorization(input, kSuiteKeys),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            "SignedHeaders=host;x-amz-date, "
            "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

TEST(S3Sign, QueryIsSorted) {
  SignInput input = Vanilla();
  input.query = {{"Param2", "value2"}, {"Param1", "value1"}};
  EXPECT_EQ(Signature(input, kSuiteKeys),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
}

TEST(S3Sign, PostVanilla) {
  SignInput input = Vanilla();
  input.method = "POST";
  EXPECT_EQ(Signature(input, kSuiteKeys),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
}

SignInput Example() {
  SignInput input;
  input.method = "GET";
  input.path = "/";
  input.payload_hash = kEmptyHash;
  input.headers = {{"host", "examplebucket.s3.amazonaws.com"},
                   {"x-amz-content-sha256", kEmptyHash},
                   {"x-amz-date", "20130524T000000Z"}};
  input.region = "us-east-1";
  input.now_us = At(2013, 5, 24, 0, 0);
  return input;
}

TEST(S3Sign, GetObjectWithARange) {
  SignInput input = Example();
  input.path = "/test.txt";
  input.headers.emplace_back("range", "bytes=0-9");
  EXPECT_EQ(Signature(input, kExampleKeys),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(S3Sign, PutObject) {
  SignInput input = Example();
  input.method = "PUT";
  input.path = "/" + UriEncode("test$file.text", true);
  input.payload_hash = Sha256Hex("Welcome to Amazon S3.");
  input.headers[1].second = input.payload_hash;
  input.headers.emplace_back("date", "Fri, 24 May 2013 00:00:00 GMT");
  input.headers.emplace_back("x-amz-storage-class", "REDUCED_REDUNDANCY");
  EXPECT_EQ(input.payload_hash, "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  EXPECT_EQ(Signature(input, kExampleKeys),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(S3Sign, ParameterWithoutValue) {
  SignInput input = Example();
  input.query = {{"lifecycle", ""}};
  EXPECT_EQ(Signature(input, kExampleKeys),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(S3Sign, ListObjects) {
  SignInput input = Example();
  input.query = {{"max-keys", "2"}, {"prefix", "J"}};
  EXPECT_EQ(Signature(input, kExampleKeys),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(S3Sign, Encoding) {
  EXPECT_EQ(UriEncode("a b/c+d=\xc3\xa9~_.-", true), "a%20b/c%2Bd%3D%C3%A9~_.-");
  EXPECT_EQ(UriEncode("a/b", false), "a%2Fb");
  EXPECT_EQ(QueryText({{"b", "x y"}, {"a-", ""}, {"a", "1"}}), "a=1&a-=&b=x%20y");
  EXPECT_EQ(Md5Base64(""), "1B2M2Y8AsgTpgAmY7PhCfg==");
}

TEST(S3Sign, SpacesInHeadersAreCollapsed) {
  SignInput input = Vanilla();
  input.headers.emplace_back("my-header", "  a   b  ");
  EXPECT_NE(CanonicalRequest(input).find("\nmy-header:a b\n"), std::string::npos);
}

}  // namespace
}  // namespace timelake::store

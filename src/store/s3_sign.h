#pragma once

#include <cstdint>
#include <string>

#include "store/url_text.h"

// AWS Signature Version 4, written from its specification. Pure, once LoadCrypto() has been ok.

namespace timelake::store {

struct S3Keys {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // empty: none
};

struct SignInput {
  std::string method;
  std::string path;          // as it stands in the URL: percent-encoded once
  NameValues query;          // not encoded, any order
  NameValues headers;        // those to sign; names in lower case, "host" among them
  std::string payload_hash;  // hex SHA-256 of the body, or "UNSIGNED-PAYLOAD"
  std::string region;
  std::string service = "s3";
  int64_t now_us = 0;
};

// "20260101T000000Z" and, its first eight characters, the day.
std::string AmzDate(int64_t now_us);

std::string CanonicalRequest(const SignInput& input);
std::string StringToSign(const SignInput& input);

// The value of the header Authorization.
std::string Authorization(const SignInput& input, const S3Keys& keys);

}  // namespace timelake::store

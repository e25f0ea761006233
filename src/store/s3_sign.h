#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// AWS Signature Version 4, written from its specification. Pure, once LoadCrypto() has been ok:
// without it digests are empty.

namespace timelake::store {

struct S3Keys {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // empty: none
};

using NameValues = std::vector<std::pair<std::string, std::string>>;

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

// Percent-encodes every byte but A-Z a-z 0-9 - . _ ~ and, if asked, '/'.
std::string UriEncode(std::string_view text, bool keep_slash);

// "a=b&c=" sorted and encoded, as it must stand in the URL.
std::string QueryText(NameValues query);

std::string Sha256Hex(std::string_view bytes);
std::string HmacSha256(std::string_view key, std::string_view text);  // raw bytes
std::string Md5Base64(std::string_view bytes);                        // the header Content-MD5

std::string CanonicalRequest(const SignInput& input);
std::string StringToSign(const SignInput& input);

// The value of the header Authorization.
std::string Authorization(const SignInput& input, const S3Keys& keys);

}  // namespace timelake::store

#include "store/s3_sign.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/civil_time.h"
#include "store/net_libraries.h"

namespace timelake::store {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string Hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

constexpr size_t kMaxDigest = 64;

enum class DigestKind { kSha256, kMd5 };

std::string Digest(DigestKind kind, std::string_view bytes) {
  const auto crypto = LoadCrypto();
  if (!crypto.ok()) return "";  // the caller has asked before
  std::array<unsigned char, kMaxDigest> out{};
  unsigned size = 0;
  const void* algorithm = kind == DigestKind::kSha256 ? (*crypto)->sha256() : (*crypto)->md5();
  if ((*crypto)->digest(bytes.data(), bytes.size(), out.data(), &size, algorithm, nullptr) != 1) {
    return "";
  }
  return std::string(reinterpret_cast<const char*>(out.data()), size);
}

std::string Base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    }
    for (size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

// Without spaces around it, and single ones within.
std::string Collapsed(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == ' ' && (text.empty() || text.back() == ' ')) continue;
    text += c;
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

NameValues Sorted(NameValues pairs) {
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return pairs;
}

std::string SignedNames(const SignInput& input) {
  std::string names;
  for (const auto& [name, value] : Sorted(input.headers)) {
    if (!names.empty()) names += ';';
    names += name;
  }
  return names;
}

std::string Scope(const SignInput& input) {
  return fmt::format("{}/{}/{}/aws4_request", AmzDate(input.now_us).substr(0, 8), input.region,
                     input.service);
}

}  // namespace

std::string AmzDate(int64_t now_us) {
  const CivilTime at = ToCivil(now_us);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", at.year, at.month, at.day, at.hour,
                     at.minute, at.second);
}

std::string UriEncode(std::string_view text, bool keep_slash) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~' || (c == '/' && keep_slash);
    if (plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string QueryText(NameValues query) {
  for (auto& [name, value] : query) {
    name = UriEncode(name, false);
    value = UriEncode(value, false);
  }
  std::sort(query.begin(), query.end());
  std::string text;
  for (const auto& [name, value] : query) {
    if (!text.empty()) text += '&';
    text += name + "=" + value;
  }
  return text;
}

std::string Sha256Hex(std::string_view bytes) { return Hex(Digest(DigestKind::kSha256, bytes)); }

std::string HmacSha256(std::string_view key, std::string_view text) {
  const auto crypto = LoadCrypto();
  if (!crypto.ok()) return "";
  std::array<unsigned char, kMaxDigest> out{};
  unsigned size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  if ((*crypto)->hmac((*crypto)->sha256(), key.data(), static_cast<int>(key.size()), data,
                      text.size(), out.data(), &size) == nullptr) {
    return "";
  }
  return std::string(reinterpret_cast<const char*>(out.data()), size);
}

std::string Md5Base64(std::string_view bytes) { return Base64(Digest(DigestKind::kMd5, bytes)); }

std::string CanonicalRequest(const SignInput& input) {
  std::string headers;
  for (const auto& [name, value] : Sorted(input.headers)) {
    headers += name + ":" + Collapsed(value) + "\n";
  }
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", input.method, input.path.empty() ? "/" : input.path,
                     QueryText(input.query), headers, SignedNames(input), input.payload_hash);
}

std::string StringToSign(const SignInput& input) {
  return fmt::format("{}\n{}\n{}\n{}", kAlgorithm, AmzDate(input.now_us), Scope(input),
                     Sha256Hex(CanonicalRequest(input)));
}

std::string Authorization(const SignInput& input, const S3Keys& keys) {
  std::string key = HmacSha256("AWS4" + keys.secret_key, AmzDate(input.now_us).substr(0, 8));
  for (const std::string& step : {input.region, input.service, std::string("aws4_request")}) {
    key = HmacSha256(key, step);
  }
  return fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm,
                     keys.access_key, Scope(input), SignedNames(input),
                     Hex(HmacSha256(key, StringToSign(input))));
}

}  // namespace timelake::store

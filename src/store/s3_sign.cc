#include "store/s3_sign.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/civil_time.h"
#include "store/digest.h"

namespace timelake::store {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

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

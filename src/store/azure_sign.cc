#include "store/azure_sign.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/civil_time.h"
#include "base/text.h"
#include "store/digest.h"

namespace timelake::store {
namespace {

std::string Header(const RemoteRequest& request, std::string_view name) {
  for (const auto& [known, value] : request.headers) {
    if (known == name) return value;
  }
  return "";
}

}  // namespace

std::string HttpDate(int64_t now_us) {
  constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const CivilTime at = ToCivil(now_us);
  const auto day = static_cast<size_t>(FloorMod(DaysFromMicros(now_us) + 4, 7));
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[day], at.day,
                     kMonths[static_cast<size_t>(at.month - 1)], at.year, at.hour, at.minute,
                     at.second);
}

std::string SharedKeyStringToSign(const RemoteRequest& request, const std::string& account) {
  const bool body = request.body != nullptr && request.body->size() > 0;
  std::string text = request.method + "\n";
  for (const char* name :
       {"content-encoding", "content-language", "content-length", "content-md5", "content-type",
        "date", "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"}) {
    const bool length = name == std::string_view("content-length");
    text += length ? (body ? std::to_string(request.body->size()) : "") : Header(request, name);
    text += '\n';
  }
  NameValues own;
  for (const auto& [name, value] : request.headers) {
    if (name.starts_with("x-ms-")) own.emplace_back(name, Trim(value));
  }
  std::sort(own.begin(), own.end());
  for (const auto& [name, value] : own) text += name + ":" + value + "\n";
  text += "/" + account + request.path;
  NameValues query = request.query;
  std::sort(query.begin(), query.end());
  for (const auto& [name, value] : query) text += "\n" + ToLowerAscii(name) + ":" + value;
  return text;
}

std::string SharedKeyAuthorization(const RemoteRequest& request, const std::string& account,
                                   const std::string& key) {
  return "SharedKey " + account + ":" +
         Base64(HmacSha256(key, SharedKeyStringToSign(request, account)));
}

}  // namespace timelake::store

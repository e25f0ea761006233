#include "store/credential_sources.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "base/civil_time.h"
#include "base/text.h"
#include "store/remote_error.h"

namespace timelake::store {
namespace {

constexpr size_t kMaxAnswer = 1 << 20;
constexpr int64_t kLongestSeconds = 1'000'000'000'000;

}  // namespace

std::string JsonField(std::string_view text, const char* name) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return "";
  const auto at = json.find(name);
  if (at == json.end()) return "";
  if (at->is_string()) return at->get<std::string>();
  if (at->is_boolean()) return at->get<bool>() ? "true" : "false";
  return at->is_number_integer() ? std::to_string(at->get<int64_t>()) : "";
}

Result<AccessToken> ParseAccessToken(std::string_view text, int64_t now_us, std::string_view who) {
  AccessToken found{JsonField(text, "access_token"), 0};
  if (found.token.empty()) return IoError("credentials: the answer of {} holds no token", who);
  const auto seconds = [&](const char* name) -> int64_t {
    const auto value = ParseInt64(JsonField(text, name));
    return value.ok() && *value > 0 && *value < kLongestSeconds ? *value : 0;
  };
  if (const int64_t on = seconds("expires_on"); on > 0) {
    found.expires_us = on * kMicrosPerSecond;
  } else if (const int64_t in = seconds("expires_in"); in > 0) {
    found.expires_us = now_us + in * kMicrosPerSecond;
  }
  return found;
}

Result<std::string> ReadSecretFile(const std::string& path, std::string_view what) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return InvalidArgument("{} {} cannot be read", what, path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return std::string(Trim(text));
}

Result<std::string> OutputOf(const std::string& command, std::string_view what) {
  FILE* pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) return IoError("{} cannot be started", what);
  std::string text;
  std::array<char, 4096> bytes{};
  while (const size_t read = fread(bytes.data(), 1, bytes.size(), pipe)) {
    if (text.size() < kMaxAnswer) text.append(bytes.data(), read);
  }
  if (const int status = pclose(pipe); status != 0) {
    return IoError("{} failed with status {}", what, status);
  }
  return text;
}

HttpOptions NearBy(HttpOptions options) {
  options.connect_timeout_ms = std::min<int64_t>(options.connect_timeout_ms, 1'000);
  options.stall_timeout_ms = std::min<int64_t>(options.stall_timeout_ms, 5'000);
  options.direct = true;
  return options;
}

Result<HttpReply> AskForCredentials(HttpClient* http, const HttpRequest& request,
                                    std::string_view who) {
  std::string why;
  for (int attempt = 0; attempt < 3; ++attempt) {
    HttpResult result = http->Do(request);
    if (result.outcome == HttpOutcome::kReply && result.reply.status < 500) {
      return std::move(result.reply);
    }
    why = result.outcome == HttpOutcome::kReply ? fmt::format("HTTP {}", result.reply.status)
                                                : result.error;
    if (result.outcome == HttpOutcome::kNotSent) break;
  }
  return IoError("credentials: {} does not answer: {}", who, why);
}

Result<HttpReply> PostForm(HttpClient* http, const std::string& url, const NameValues& form,
                           std::string_view who) {
  HttpRequest request;
  request.method = "POST";
  request.url = url;
  request.headers = {{"content-type", "application/x-www-form-urlencoded"}};
  request.body = arrow::Buffer::FromString(QueryText(form));
  TL_ASSIGN_OR_RAISE(HttpReply reply, AskForCredentials(http, request, who));
  if (reply.status == 200) return reply;
  std::string code = ParseRemoteError(reply).code;
  const bool repeats = std::any_of(form.begin(), form.end(),
                                   [&](const auto& field) { return field.second == code; });
  return IoError("credentials: {} refused: HTTP {} {}", who, reply.status, repeats ? "" : code);
}

bool MayBeAsked(std::string_view url) {
  if (url.starts_with("https://")) return true;
  if (!url.starts_with("http://")) return false;
  std::string_view host = url.substr(7, url.find('/', 7) - 7);
  if (host.find('@') != host.npos) return false;
  const size_t port = host.rfind(':');
  const size_t bracket = host.rfind(']');
  if (port != host.npos && (bracket == host.npos || port > bracket)) host = host.substr(0, port);
  for (const char* local : {"localhost", "127.0.0.1", "[::1]", "169.254.169.254", "[fd00:ec2::254]",
                            "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"}) {
    if (host == local) return true;
  }
  return false;
}

}  // namespace timelake::store

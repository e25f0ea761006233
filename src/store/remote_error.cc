#include "store/remote_error.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "store/xml_reader.h"

namespace timelake::store {
namespace {

constexpr size_t kLongestText = 200;  // of an answer that is no document of a store
constexpr size_t kLongestCode = 64;

std::string Field(const nlohmann::json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

// {"error": {"code": 404, "message": "...", "errors": [{"reason": "notFound"}]}} of Google, and
// {"error": "invalid_grant", "error_description": "..."} of token endpoints (RFC 6749).
RemoteError OfJson(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("error")) return {};
  const auto& error = json["error"];
  if (error.is_string()) return {error.get<std::string>(), Field(json, "error_description")};
  if (!error.is_object()) return {};
  RemoteError found{Field(error, "status"), Field(error, "message")};
  const auto reasons = error.find("errors");
  if (reasons != error.end() && reasons->is_array() && !reasons->empty() &&
      reasons->front().is_object()) {
    found.code = Field(reasons->front(), "reason");
  }
  return found;
}

// Codes are names, and shown; what is none may repeat what was sent, secrets among it.
bool IsName(std::string_view code) {
  constexpr std::string_view kOthers = "_-.";
  return code.size() <= kLongestCode && std::all_of(code.begin(), code.end(), [&](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  kOthers.find(c) != kOthers.npos;
         });
}

}  // namespace

bool RemoteError::NoBucket() const {
  return code == "NoSuchBucket" || code == "ContainerNotFound" ||
         message.find("bucket does not exist") != std::string::npos;
}

RemoteError ParseRemoteError(const HttpReply& reply) {
  const std::string_view text = Trim(reply.text());
  RemoteError error;
  if (text.find("<Error") != std::string_view::npos) {
    error = {FirstElement(text, "Code"), FirstElement(text, "Message")};
  } else if (text.starts_with('{')) {
    error = OfJson(text);
  } else if (reply.status >= 400 && text.size() <= kLongestText && !text.starts_with('<')) {
    error.message = text;
  }
  // An answer to HEAD has no body.
  if (error.code.empty()) error.code = reply.Header("x-ms-error-code");
  if (!IsName(error.code)) error.code.clear();
  error.message = error.message.substr(0, error.message.find('\n'));
  return error;
}

std::string Describe(const HttpReply& reply) {
  const RemoteError error = ParseRemoteError(reply);
  std::string text = fmt::format("HTTP {}", reply.status);
  if (!error.code.empty()) text += " " + error.code;
  if (!error.message.empty()) text += ": " + error.message;
  return text;
}

bool IsTransient(const HttpReply& reply) {
  if (reply.status == 408 || reply.status == 429) return true;
  if (reply.status >= 500) return reply.status != 501;
  if (reply.status == 400) return ParseRemoteError(reply).code == "RequestTimeout";
  return false;
}

}  // namespace timelake::store

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/buffer.h>

#include "base/error.h"

// One HTTP request at a time a thread, over a pool of connections that stay open. On libcurl.

namespace timelake::store {

struct Curl;

struct HttpOptions {
  int64_t connect_timeout_ms = 5'000;
  int64_t stall_timeout_ms = 30'000;  // a transfer that moves no byte for so long has failed
  std::string ca_file;                // empty: the system's
  bool direct = false;                // not by a proxy, whatever the environment says
};

struct HttpRequest {
  std::string method;  // GET, HEAD, PUT, POST, DELETE
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::shared_ptr<arrow::Buffer> body;  // null: none
  // The body goes out at most once. Without this libcurl sends a request again by itself when a
  // connection that it used before turns out to be dead, and the first sending may have had effect.
  bool send_once = false;
};

struct HttpReply {
  int status = 0;
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case
  std::shared_ptr<arrow::Buffer> body;                      // never null

  std::string Header(std::string_view name) const {  // "" if there is none
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(body->data()), static_cast<size_t>(body->size())};
  }
};

enum class HttpOutcome {
  kReply,    // whatever its status
  kNotSent,  // certainly no byte of the request arrived: no such host, connection refused
  kNoReply,  // sent, perhaps; no whole reply came
};

struct HttpResult {
  HttpOutcome outcome = HttpOutcome::kNotSent;
  HttpReply reply;    // only with kReply
  std::string error;  // otherwise
};

// Thread-safe. Never follows redirects; verifies certificates.
class HttpClient {
 public:
  explicit HttpClient(HttpOptions options);
  ~HttpClient();

  HttpResult Do(const HttpRequest& request);

 private:
  void* Take(const Curl& curl);
  void Return(const Curl& curl, void* handle);

  const HttpOptions options_;
  std::mutex mutex_;
  std::vector<void*> idle_;  // CURL*, each with its connection; the last used first
};

// "Wed, 01 Jan 2026 00:00:00 GMT" -> microseconds; nothing sensible: -1.
int64_t ParseHttpDate(const std::string& text);

}  // namespace timelake::store

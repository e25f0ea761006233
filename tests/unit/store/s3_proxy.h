#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "fake_http_server.h"
#include "s3_server.h"
#include "store/http_client.h"

namespace timelake::store {

// Stands before the server: counts what comes, and makes what can go wrong on the way.
class S3Proxy {
 public:
  enum class Action { kPass, kDropBefore, kDropAfter, k409, k503 };
  using Plan = std::function<Action(const FakeRequest&)>;

  explicit S3Proxy(S3Server* server, Plan plan = {})
      : server_(server), plan_(std::move(plan)), client_(HttpOptions{}) {
    proxy_ = std::make_unique<FakeHttpServer>(
        [this](const FakeRequest& request) { return Answer(request); });
  }

  std::map<std::string, std::string> Options() const {
    auto options = server_->Options();
    options["aws_endpoint"] = proxy_->endpoint();
    options["timelake_probe_conditional_put"] = "false";
    return options;
  }

  // Requests since the last call, by what they are: "PUT", "GET", "HEAD", "LIST", "DELETE", "POST".
  std::map<std::string, int> Counts() {
    std::map<std::string, int> counts;
    const auto requests = proxy_->requests();
    for (size_t i = seen_; i < requests.size(); ++i) {
      const bool list = requests[i].path.find("list-type=") != std::string::npos;
      ++counts[list ? "LIST" : requests[i].method];
    }
    seen_ = requests.size();
    return counts;
  }

 private:
  std::optional<FakeReply> Answer(const FakeRequest& request) {
    const Action action = plan_ ? plan_(request) : Action::kPass;
    switch (action) {
      case Action::kDropBefore: return std::nullopt;
      case Action::k409:
        return FakeReply{409, {}, "<Error><Code>ConditionalRequestConflict</Code></Error>", false};
      case Action::k503: return FakeReply{503, {}, "<Error><Code>SlowDown</Code></Error>", false};
      case Action::kPass:
      case Action::kDropAfter: break;
    }
    HttpRequest out;
    out.method = request.method;
    out.url = server_->endpoint() + request.path;
    for (const auto& [name, value] : request.headers) {
      if (name != "content-length") out.headers.emplace_back(name, value);
    }
    if (request.headers.contains("content-length")) out.body = Bytes(request.body);
    const HttpResult result = client_.Do(out);
    if (result.outcome != HttpOutcome::kReply || action == Action::kDropAfter) return std::nullopt;
    FakeReply reply;
    reply.status = result.reply.status;
    reply.body = std::string(result.reply.text());
    for (const char* name : {"Date", "ETag", "Last-Modified", "Content-Range", "Content-Type"}) {
      std::string lower = name;
      for (char& c : lower) c = static_cast<char>(std::tolower(c));
      if (const std::string value = result.reply.Header(lower); !value.empty()) {
        reply.headers[name] = value;
      }
    }
    if (request.method == "HEAD") {
      reply.headers["Content-Length"] = result.reply.Header("content-length");
    }
    return reply;
  }

  S3Server* const server_;
  const Plan plan_;
  HttpClient client_;
  std::unique_ptr<FakeHttpServer> proxy_;
  size_t seen_ = 0;
};

}  // namespace timelake::store

#pragma once

#include <map>
#include <string>

#include "server_process.h"
#include "store/http_client.h"
#include "store/open_store.h"

namespace timelake::store {

// A fake-gcs-server: the JSON API of Google Cloud Storage, in memory. It asks for no credentials.
class GcsServer {
 public:
  static std::string Binary() {
    return ServerProcess::Installed("TIMELAKE_FAKE_GCS_SERVER", "fake-gcs-server");
  }
  bool Run() {
    return process_.Start([](int port) {
      const std::string number = std::to_string(port);
      return ServerProcess::Command{
          {Binary(), "-scheme", "http", "-host", "127.0.0.1", "-port", number, "-backend", "memory",
           "-external-url", "http://127.0.0.1:" + number},
          {}};
    });
  }

  std::string endpoint() const { return process_.endpoint(); }

  std::string NewBucket() {
    const std::string name = "bucket" + std::to_string(++buckets_);
    HttpRequest request;
    request.method = "POST";
    request.url = endpoint() + "/storage/v1/b?project=p";
    request.headers = {{"content-type", "application/json"}};
    request.body = Bytes("{\"name\":\"" + name + "\"}");
    const HttpResult result = HttpClient(HttpOptions{}).Do(request);
    EXPECT_EQ(result.reply.status, 200) << result.error;
    return name;
  }

  std::map<std::string, std::string> Options() const {
    return {{"google_base_url", endpoint()},
            {"google_allow_http", "true"},
            {"google_skip_signature", "true"}};
  }

 private:
  ServerProcess process_;
  int buckets_ = 0;
};

inline Result<std::shared_ptr<ObjectStore>> OpenGcs(
    const std::map<std::string, std::string>& options) {
  return OpenStore({"gs", ""}, options);
}

}  // namespace timelake::store

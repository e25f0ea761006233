#pragma once

#include <atomic>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "fake_http_server.h"
#include "store/remote_options.h"
#include "store_testing.h"

namespace timelake::store {

using Map = std::map<std::string, std::string>;

// Sleeps are only noted; the wall clock can be put on.
class TestClock : public Clock {
 public:
  int64_t NowMicros() override { return SystemClock()->NowMicros() + shift_us; }
  int64_t BootMicros() override { return SystemClock()->BootMicros() + slept_us; }
  void SleepMicros(int64_t micros) override { slept_us += micros; }
  std::atomic<int64_t> shift_us = 0;
  std::atomic<int64_t> slept_us = 0;
};

inline EnvLookup EnvOf(Map values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::make_optional(found->second);
  };
}

// A server that plays the one who hands out credentials, and files that hold them.
class CredentialsTest : public ::testing::Test {
 protected:
  void Serve(FakeHttpServer::Handler handler) {
    server_ = std::make_unique<FakeHttpServer>(std::move(handler));
  }
  std::string url(const std::string& path) const { return server_->endpoint() + path; }
  std::string File(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() + "/" + name) << text;
    return folder_.path() + "/" + name;
  }
  static FakeReply Text(const std::string& body, int status = 200) {
    return {status, {}, body, false};
  }
  static FakeReply Token(const std::string& token) {
    return Text(R"({"access_token": ")" + token + R"(", "expires_in": 3600, "token_type": "B"})");
  }
  // The message of an error that holds no secret.
  static std::string Told(const Status& status) {
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.ToString().find("S3CRET"), std::string::npos) << status;
    return MessageOf(status);
  }

  TempFolder folder_;
  Map env_;
  TestClock clock_;
  std::unique_ptr<FakeHttpServer> server_;
};

}  // namespace timelake::store

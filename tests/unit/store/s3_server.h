#pragma once

#include <map>
#include <memory>
#include <string>

#include "server_process.h"
#include "store/open_store.h"

namespace timelake::store {

// A versitygw (an S3 server that verifies signatures), over a folder of its own.
class S3Server {
 public:
  static constexpr const char* kAccessKey = "test-access-key";
  static constexpr const char* kSecretKey = "test-secret-key-0123456789";

  // One for the whole program; null where the server is not installed (see TL_REQUIRE_S3_SERVER).
  static S3Server* Shared() { return SharedServer<S3Server>(); }
  static std::string Binary() {
    return ServerProcess::Installed("TIMELAKE_VERSITYGW", "versitygw");
  }
  bool Run() {
    return process_.Start([this](int port) {
      return ServerProcess::Command{{Binary(), "--port", "127.0.0.1:" + std::to_string(port),
                                     "--quiet", "posix", folder_.path()},
                                    {std::string("ROOT_ACCESS_KEY=") + kAccessKey,
                                     std::string("ROOT_SECRET_KEY=") + kSecretKey}};
    });
  }

  int port() const { return process_.port(); }
  std::string endpoint() const { return process_.endpoint(); }

  // A bucket that exists; buckets are folders of the server's root.
  std::string NewBucket() {
    const std::string name = "bucket" + std::to_string(++buckets_);
    std::filesystem::create_directory(folder_.path() + "/" + name);
    return name;
  }

  std::map<std::string, std::string> Options() const {
    return {{"aws_access_key_id", kAccessKey},
            {"aws_secret_access_key", kSecretKey},
            {"aws_region", "us-east-1"},
            {"aws_endpoint", endpoint()},
            {"aws_allow_http", "true"}};
  }

 private:
  TempFolder folder_;
  ServerProcess process_;
  int buckets_ = 0;
};

inline Result<std::shared_ptr<ObjectStore>> OpenS3(
    const std::map<std::string, std::string>& options) {
  return OpenStore({"s3", ""}, options);
}

#define TL_REQUIRE_S3_SERVER() TL_REQUIRE_SERVER(timelake::store::S3Server, "S3")

}  // namespace timelake::store

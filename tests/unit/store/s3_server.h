#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "store/s3_store.h"
#include "store_testing.h"

namespace timelake::store {

// A versitygw (an S3 server that verifies signatures) of the test's own, on 127.0.0.1 and over a
// folder of its own; ended with the test program. `make deps-test` installs it.
class S3Server {
 public:
  static constexpr const char* kAccessKey = "test-access-key";
  static constexpr const char* kSecretKey = "test-secret-key-0123456789";

  // One for the whole program; null where the server is not installed (see TL_REQUIRE_S3_SERVER).
  static S3Server* Shared() {
    static const std::unique_ptr<S3Server> server = Start();
    return server.get();
  }

  static std::string Binary() {
    if (const char* path = std::getenv("TIMELAKE_VERSITYGW")) return path;
    return TL_SOURCE_DIR "/.deps/test-servers/versitygw";
  }

  static std::unique_ptr<S3Server> Start() {
    if (access(Binary().c_str(), X_OK) != 0) return nullptr;
    for (int attempt = 0; attempt < 5; ++attempt) {  // somebody else may take the port first
      std::unique_ptr<S3Server> server(new S3Server());
      if (server->Run()) return server;
    }
    ADD_FAILURE() << Binary() << " does not start";
    return nullptr;
  }

  ~S3Server() {
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    for (int i = 0; i < 200 && waitpid(pid_, nullptr, WNOHANG) == 0; ++i) Wait();
    kill(pid_, SIGKILL);
  }

  int port() const { return port_; }
  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_); }

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
  S3Server() = default;
  static void Wait() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

  static sockaddr_in Local(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    return address;
  }

  static int FreePort() {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = Local(0);
    socklen_t size = sizeof(address);
    bind(fd, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    close(fd);
    return ntohs(address.sin_port);
  }

  bool Accepts() const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = Local(port_);
    const bool ok = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(fd);
    return ok;
  }

  bool Run() {
    port_ = FreePort();
    const std::string binary = Binary();
    const std::string address = "127.0.0.1:" + std::to_string(port_);
    const std::string access = std::string("ROOT_ACCESS_KEY=") + kAccessKey;
    const std::string secret = std::string("ROOT_SECRET_KEY=") + kSecretKey;
    const char* arguments[] = {binary.c_str(), "--port", address.c_str(),
                               "--quiet",      "posix",  folder_.path().c_str(),
                               nullptr};
    const char* environment[] = {access.c_str(), secret.c_str(), nullptr};
    pid_ = _Fork();  // without the handlers of libraries: the child does little more than execve
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int null = open("/dev/null", O_RDWR);
      dup2(null, 0);
      dup2(null, 1);
      dup2(null, 2);
      execve(binary.c_str(), const_cast<char**>(arguments), const_cast<char**>(environment));
      _exit(127);
    }
    for (int i = 0; i < 2000; ++i) {
      if (waitpid(pid_, nullptr, WNOHANG) != 0) {
        pid_ = 0;
        return false;
      }
      if (Accepts()) return true;
      Wait();
    }
    return false;
  }

  TempFolder folder_;
  int port_ = 0;
  int buckets_ = 0;
  pid_t pid_ = 0;
};

// Without the server the test is skipped, which fails it in continuous integration.
#define TL_REQUIRE_S3_SERVER()                                                        \
  if (timelake::store::S3Server::Shared() == nullptr) {                               \
    std::fprintf(stderr, "NO S3 SERVER: %s is missing; run `make deps-test`\n",       \
                 timelake::store::S3Server::Binary().c_str());                        \
    if (std::getenv("CI") != nullptr) FAIL() << "no S3 server: run `make deps-test`"; \
    GTEST_SKIP() << "no S3 server: run `make deps-test`";                             \
  }

}  // namespace timelake::store

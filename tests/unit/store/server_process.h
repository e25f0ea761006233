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
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "store_testing.h"

namespace timelake::store {

// A server of the test's own, on a free port of 127.0.0.1; ended with the test program.
// `make deps-test` installs those that the tests know.
class ServerProcess {
 public:
  struct Command {
    std::vector<std::string> arguments;  // the program first, by its path
    std::vector<std::string> environment;
  };

  static std::string Installed(const char* variable, const char* below_deps) {
    if (const char* path = std::getenv(variable)) return path;
    return std::string(TL_SOURCE_DIR "/.deps/test-servers/") + below_deps;
  }

  ~ServerProcess() {
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    for (int i = 0; i < 200 && waitpid(pid_, nullptr, WNOHANG) == 0; ++i) Wait();
    kill(pid_, SIGKILL);
  }

  // Whether it runs and accepts connections.
  bool Start(const std::function<Command(int port)>& command) {
    for (int attempt = 0; attempt < 5; ++attempt) {  // somebody else may take the port first
      port_ = FreePort();
      if (Run(command(port_))) return true;
    }
    return false;
  }

  int port() const { return port_; }
  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
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

  static std::vector<char*> Pointers(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
  }

  bool Run(const Command& command) {
    const std::vector<char*> arguments = Pointers(command.arguments);
    const std::vector<char*> environment = Pointers(command.environment);
    pid_ = _Fork();  // without the handlers of libraries: the child does little more than execve
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int null = open("/dev/null", O_RDWR);
      dup2(null, 0);
      dup2(null, 1);
      dup2(null, 2);
      execve(arguments[0], arguments.data(), environment.data());
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

  int port_ = 0;
  pid_t pid_ = 0;
};

// `Server` of the program, or null where it is not installed.
template <typename Server>
Server* SharedServer() {
  static const std::unique_ptr<Server> server = [] {
    std::unique_ptr<Server> fresh;
    if (access(Server::Binary().c_str(), X_OK) != 0) return fresh;
    fresh = std::make_unique<Server>();
    if (fresh->Run()) return fresh;
    ADD_FAILURE() << Server::Binary() << " does not start";
    fresh.reset();
    return fresh;
  }();
  return server.get();
}

// Without the server the test is skipped, which fails it in continuous integration.
#define TL_REQUIRE_SERVER(Server, what)                                                     \
  if (timelake::store::SharedServer<Server>() == nullptr) {                                 \
    std::fprintf(stderr, "NO %s SERVER: %s is missing; run `make deps-test`\n", what,       \
                 Server::Binary().c_str());                                                 \
    if (std::getenv("CI") != nullptr) FAIL() << "no " what " server: run `make deps-test`"; \
    GTEST_SKIP() << "no " what " server: run `make deps-test`";                             \
  }

}  // namespace timelake::store

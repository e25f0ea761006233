#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

// A small HTTP server for the tests, on 127.0.0.1: answers each request as a function says, or ends
// the connection without an answer, so that faults come at will.

namespace timelake::store {

struct FakeRequest {
  std::string method;
  std::string path;                            // with the query
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  int number = 0;         // 1, 2, 3... of the server
  int on_connection = 0;  // 1, 2, 3... of its connection
};

struct FakeReply {
  int status = 200;
  std::map<std::string, std::string> headers;
  std::string body;
  bool cut = false;  // the connection ends in the middle of the body
};

class FakeHttpServer {
 public:
  // nullopt: the connection is closed without a reply.
  using Handler = std::function<std::optional<FakeReply>(const FakeRequest&)>;

  explicit FakeHttpServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    listen(listener_, 64);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }

  ~FakeHttpServer() {
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
  }

  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<FakeRequest> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void Accept() {
    while (!stopping_) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      threads_.emplace_back([this, fd] {
        Serve(fd);
        const std::lock_guard inner(mutex_);
        std::erase(open_, fd);
        close(fd);
      });
    }
  }

  static bool Fill(int fd, std::string* text) {
    char bytes[65536];
    const ssize_t got = recv(fd, bytes, sizeof(bytes), 0);
    if (got <= 0) return false;
    text->append(bytes, static_cast<size_t>(got));
    return true;
  }

  void Serve(int fd) {
    std::string text;
    for (int number = 1;; ++number) {
      size_t end = 0;
      while ((end = text.find("\r\n\r\n")) == std::string::npos) {
        if (!Fill(fd, &text)) return;
      }
      FakeRequest request = Parse(text.substr(0, end + 2));
      text.erase(0, end + 4);
      const size_t length = std::strtoul(request.headers["content-length"].c_str(), nullptr, 10);
      while (text.size() < length) {
        if (!Fill(fd, &text)) return;
      }
      request.body = text.substr(0, length);
      text.erase(0, length);
      request.on_connection = number;
      {
        const std::lock_guard lock(mutex_);
        request.number = static_cast<int>(requests_.size()) + 1;
        requests_.push_back(request);
      }
      const auto reply = handler_(request);
      if (!reply || !Answer(fd, request, *reply)) return;
    }
  }

  static FakeRequest Parse(const std::string& head) {
    FakeRequest request;
    size_t at = head.find("\r\n");
    const std::string first = head.substr(0, at);
    const size_t space = first.find(' ');
    request.method = first.substr(0, space);
    request.path = first.substr(space + 1, first.rfind(' ') - space - 1);
    while (at + 2 < head.size()) {
      const size_t next = head.find("\r\n", at + 2);
      const std::string line = head.substr(at + 2, next - at - 2);
      const size_t colon = line.find(':');
      std::string name = line.substr(0, colon);
      for (char& c : name) c = static_cast<char>(std::tolower(c));
      request.headers[name] = line.substr(std::min(line.size(), colon + 2));
      at = next;
    }
    return request;
  }

  static bool Answer(int fd, const FakeRequest& request, const FakeReply& reply) {
    std::string text = "HTTP/1.1 " + std::to_string(reply.status) + " Reason\r\n";
    std::map<std::string, std::string> headers = reply.headers;
    headers.emplace("Date", "Thu, 01 Jan 2026 00:00:00 GMT");
    headers.emplace("Content-Length", std::to_string(reply.body.size()));
    for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
    text += "\r\n";
    if (request.method != "HEAD") {
      text += reply.cut ? reply.body.substr(0, reply.body.size() / 2) : reply.body;
    }
    return send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()) &&
           !reply.cut;
  }

  const Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  std::thread acceptor_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::vector<FakeRequest> requests_;
};

}  // namespace timelake::store

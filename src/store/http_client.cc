#include "store/http_client.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <arrow/buffer_builder.h>

#include "base/civil_time.h"
#include "base/text.h"
#include "store/net_libraries.h"

namespace timelake::store {
namespace {

constexpr size_t kMaxIdle = 64;
constexpr int64_t kMaxReserve = int64_t{64} << 20;  // what a Content-Length is believed at once

// One transfer: what libcurl's callbacks see.
struct Transfer {
  const HttpRequest* request = nullptr;
  const Curl* curl = nullptr;
  CURL* handle = nullptr;
  int64_t sent = 0;  // bytes of the body given to libcurl
  arrow::BufferBuilder body;
  bool failed = false;  // no memory for the body
  HttpReply reply;
};

size_t OnRead(char* out, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const auto& body = *transfer.request->body;
  const int64_t rest = body.size() - transfer.sent;
  const int64_t bytes = std::min<int64_t>(static_cast<int64_t>(size * count), rest);
  if (bytes > 0) std::memcpy(out, body.data() + transfer.sent, static_cast<size_t>(bytes));
  transfer.sent += bytes;
  return static_cast<size_t>(bytes);
}

int OnSeek(void* user, curl_off_t offset, int origin) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (origin != SEEK_SET || transfer.request->send_once) return CURL_SEEKFUNC_FAIL;
  transfer.sent = offset;
  return CURL_SEEKFUNC_OK;
}

size_t OnBody(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const auto bytes = static_cast<int64_t>(size * count);
  if (transfer.body.capacity() == 0) {
    curl_off_t length = -1;
    transfer.curl->easy_getinfo(transfer.handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (length > 0 && !transfer.body.Reserve(std::min<int64_t>(length, kMaxReserve)).ok()) {
      transfer.failed = true;
      return 0;
    }
  }
  if (!transfer.body.Append(data, bytes).ok()) {
    transfer.failed = true;
    return 0;
  }
  return static_cast<size_t>(bytes);
}

size_t OnHeader(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {  // of the final reply, or of a "100 Continue" before it
    transfer.reply.headers.clear();
  } else if (const size_t colon = line.find(':'); colon != std::string_view::npos) {
    transfer.reply.headers[ToLowerAscii(line.substr(0, colon))] =
        std::string(Trim(line.substr(colon + 1)));
  }
  return line.size();
}

bool CertainlyNotSent(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE: return true;
    default: return false;
  }
}

class HeaderList {
 public:
  explicit HeaderList(const Curl& curl) : curl_(curl) {}
  ~HeaderList() { curl_.slist_free_all(list_); }
  void Add(const std::string& line) {
    if (curl_slist* longer = curl_.slist_append(list_, line.c_str())) list_ = longer;
  }
  curl_slist* get() const { return list_; }

 private:
  const Curl& curl_;
  curl_slist* list_ = nullptr;
};

void SetMethod(const Curl& curl, CURL* handle, const HttpRequest& request, Transfer* transfer) {
  if (request.method == "HEAD") {
    curl.easy_setopt(handle, CURLOPT_NOBODY, 1L);
  } else if (request.body != nullptr) {
    curl.easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    curl.easy_setopt(handle, CURLOPT_READFUNCTION, OnRead);
    curl.easy_setopt(handle, CURLOPT_READDATA, transfer);
    curl.easy_setopt(handle, CURLOPT_SEEKFUNCTION, OnSeek);
    curl.easy_setopt(handle, CURLOPT_SEEKDATA, transfer);
    curl.easy_setopt(handle, CURLOPT_INFILESIZE_LARGE,
                     static_cast<curl_off_t>(request.body->size()));
    curl.easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
    if (request.method != "PUT") {
      curl.easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    }
  } else if (request.method != "GET") {
    curl.easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
}

void SetUp(const Curl& curl, CURL* handle, const HttpOptions& options, Transfer* transfer) {
  curl.easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl.easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  curl.easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl.easy_setopt(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl.easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl.easy_setopt(handle, CURLOPT_BUFFERSIZE, 256L << 10);
  curl.easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(options.connect_timeout_ms));
  curl.easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl.easy_setopt(handle, CURLOPT_LOW_SPEED_TIME,
                   static_cast<long>(std::max<int64_t>(1, options.stall_timeout_ms / 1000)));
  if (options.direct) curl.easy_setopt(handle, CURLOPT_NOPROXY, "*");
  if (!options.ca_file.empty()) {
    curl.easy_setopt(handle, CURLOPT_CAINFO, options.ca_file.c_str());
  }
  curl.easy_setopt(handle, CURLOPT_WRITEFUNCTION, OnBody);
  curl.easy_setopt(handle, CURLOPT_WRITEDATA, transfer);
  curl.easy_setopt(handle, CURLOPT_HEADERFUNCTION, OnHeader);
  curl.easy_setopt(handle, CURLOPT_HEADERDATA, transfer);
}

}  // namespace

HttpClient::HttpClient(HttpOptions options) : options_(std::move(options)) {}

HttpClient::~HttpClient() {
  const auto curl = LoadCurl();
  if (!curl.ok()) return;
  for (void* handle : idle_) (*curl)->easy_cleanup(handle);
}

void* HttpClient::Take(const Curl& curl) {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return curl.easy_init();
  void* handle = idle_.back();
  idle_.pop_back();
  return handle;
}

void HttpClient::Return(const Curl& curl, void* handle) {
  curl.easy_reset(handle);  // keeps its connection
  {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMaxIdle) {
      idle_.push_back(handle);
      return;
    }
  }
  curl.easy_cleanup(handle);
}

HttpResult HttpClient::Do(const HttpRequest& request) {
  HttpResult result;
  const auto loaded = LoadCurl();
  if (!loaded.ok()) {
    result.error = MessageOf(loaded.status());
    return result;
  }
  const Curl& curl = **loaded;
  CURL* handle = Take(curl);
  if (handle == nullptr) {
    result.error = "out of memory";
    return result;
  }
  Transfer transfer;
  transfer.request = &request;
  transfer.curl = &curl;
  transfer.handle = handle;
  SetUp(curl, handle, options_, &transfer);
  SetMethod(curl, handle, request, &transfer);
  HeaderList headers(curl);
  for (const auto& [name, value] : request.headers) {
    // libcurl leaves out a header "Name:"; an empty value is written with a semicolon.
    headers.Add(value.empty() ? name + ";" : name + ": " + value);
  }
  headers.Add("Expect:");  // nobody waits for a "100 Continue"
  headers.Add("Accept:");
  curl.easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  curl.easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  std::array<char, CURL_ERROR_SIZE> text{};
  curl.easy_setopt(handle, CURLOPT_ERRORBUFFER, text.data());

  const CURLcode code = curl.easy_perform(handle);
  if (code != CURLE_OK) {
    result.outcome = CertainlyNotSent(code) ? HttpOutcome::kNotSent : HttpOutcome::kNoReply;
    result.error = transfer.failed ? "out of memory"
                   : text[0] != 0  ? text.data()
                                   : curl.easy_strerror(code);
    curl.easy_cleanup(handle);  // its connection is of no use
    return result;
  }
  long status = 0;
  curl.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  result.outcome = HttpOutcome::kReply;
  result.reply = std::move(transfer.reply);
  result.reply.status = static_cast<int>(status);
  auto body = transfer.body.Finish();
  Return(curl, handle);
  if (!body.ok()) {
    result.outcome = HttpOutcome::kNoReply;
    result.error = "out of memory";
    return result;
  }
  result.reply.body = *std::move(body);
  return result;
}

int64_t ParseHttpDate(const std::string& text) {
  const auto curl = LoadCurl();
  const time_t seconds = text.empty() || !curl.ok() ? -1 : (*curl)->getdate(text.c_str(), nullptr);
  return seconds < 0 ? -1 : static_cast<int64_t>(seconds) * kMicrosPerSecond;
}

}  // namespace timelake::store

#include "store/s3_store.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "base/civil_time.h"
#include "base/text.h"
#include "store/s3_client.h"
#include "store/s3_stream.h"
#include "store/s3_xml.h"

namespace timelake::store {
namespace {

constexpr size_t kParallel = 16;
constexpr size_t kDeletesAtOnce = 1000;  // of the protocol
constexpr int64_t kSlowPutUs = kMicrosPerSecond;

// Runs work(0 .. count-1) on some threads; after an error no more is begun.
template <typename Work>
Status ForEach(size_t count, const Work& work) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  Status first;
  std::atomic<bool> failed{false};
  const auto run = [&] {
    for (size_t i = next++; i < count && !failed; i = next++) {
      Status status = work(i);
      if (status.ok()) continue;
      failed = true;
      const std::lock_guard lock(mutex);
      if (first.ok()) first = std::move(status);
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(kParallel, count); ++i) threads.emplace_back(run);
  run();
  for (std::thread& thread : threads) thread.join();
  return first;
}

class S3Store : public ObjectStore {
 public:
  explicit S3Store(std::shared_ptr<S3Client> client) : client_(std::move(client)) {}

  std::string scheme() const override { return "s3"; }
  bool has_compare_and_swap() const override { return true; }

  Result<GetReply> Get(const std::string& key) override;
  Result<HeadReply> Head(const std::string& key) override;
  Result<PutReply> Put(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) override;
  Status PutAll(const std::vector<PutRequest>& requests) override {
    return ForEach(requests.size(),
                   [&](size_t i) { return Put(requests[i].key, requests[i].bytes).status(); });
  }
  Status Sync(const std::vector<std::string>& /*keys*/) override { return Status::OK(); }
  Result<ConditionalPutReply> PutIfAbsent(const std::string& key,
                                          std::shared_ptr<arrow::Buffer> bytes) override {
    return PutIfMatch(key, std::move(bytes), std::nullopt);
  }
  Result<ConditionalPutReply> PutIfMatch(const std::string& key,
                                         std::shared_ptr<arrow::Buffer> bytes,
                                         const std::optional<std::string>& expected) override;
  Result<ListReply> List(const std::string& prefix) override;
  Result<std::vector<std::string>> ListFolders(const std::string& prefix) override;
  Status Delete(const std::string& key) override;
  Status DeleteAll(const std::vector<std::string>& keys) override;
  Result<std::shared_ptr<arrow::io::OutputStream>> OpenWrite(const std::string& key) override {
    TL_ASSIGN_OR_RAISE(S3Key split, SplitS3Key(key));
    return MakeS3Upload(client_, std::move(split));
  }
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(
      const std::string& key, std::optional<int64_t> size) override {
    TL_ASSIGN_OR_RAISE(S3Key split, SplitS3Key(key));
    return OpenS3File(client_, std::move(split), size);
  }

 private:
  static Result<S3Request> Request(const char* method, const std::string& key) {
    TL_ASSIGN_OR_RAISE(S3Key split, SplitS3Key(key));
    S3Request request;
    request.method = method;
    request.bucket = std::move(split.bucket);
    request.key = std::move(split.name);
    return request;
  }
  // 404 of a key is an answer, that of a bucket is none.
  static bool Missing(const HttpReply& reply) {
    return reply.status == 404 && ParseS3Error(reply.text()).code != "NoSuchBucket";
  }
  Result<ObjectInfo> InfoOf(const std::string& key, const S3Request& request,
                            const HttpReply& reply) const;
  Result<PutReply> Written(const std::string& key, const S3Request& request, const HttpReply& reply,
                           int64_t took_us) const;
  // All pages of a listing; `page` takes each.
  template <typename Page>
  Result<int64_t> ListPages(const std::string& prefix, bool folders, const Page& page);
  Status DeleteBatch(const std::string& bucket, const std::vector<std::string>& names);

  const std::shared_ptr<S3Client> client_;
};

Result<ObjectInfo> S3Store::InfoOf(const std::string& key, const S3Request& request,
                                   const HttpReply& reply) const {
  ObjectInfo info;
  info.key = key;
  info.identity = reply.Header("etag");
  info.mtime_us = ParseHttpDate(reply.Header("last-modified"));
  if (info.identity.empty() || info.mtime_us < 0) {
    return Unsupported("{}: the store's reply has no ETag or no Last-Modified, which commits need",
                       request.Place());
  }
  return info;
}

Result<GetReply> S3Store::Get(const std::string& key) {
  TL_ASSIGN_OR_RAISE(const S3Request request, Request("GET", key));
  TL_ASSIGN_OR_RAISE(HttpReply http, client_->Send(request));
  GetReply reply;
  reply.info.key = key;
  TL_ASSIGN_OR_RAISE(reply.date_us, client_->DateOf(request, http));
  if (Missing(http)) return reply;
  if (http.status != 200) return client_->Refused(request, http);
  TL_ASSIGN_OR_RAISE(reply.info, InfoOf(key, request, http));
  reply.info.size = http.body->size();
  reply.bytes = std::move(http.body);
  reply.found = true;
  return reply;
}

Result<HeadReply> S3Store::Head(const std::string& key) {
  TL_ASSIGN_OR_RAISE(const S3Request request, Request("HEAD", key));
  TL_ASSIGN_OR_RAISE(const HttpReply http, client_->Send(request));
  HeadReply reply;
  reply.info.key = key;
  TL_ASSIGN_OR_RAISE(reply.date_us, client_->DateOf(request, http));
  if (Missing(http)) return reply;
  if (http.status != 200) return client_->Refused(request, http);
  TL_ASSIGN_OR_RAISE(reply.info, InfoOf(key, request, http));
  TL_ASSIGN_OR_RAISE(reply.info.size, ParseInt64(http.Header("content-length")));
  reply.found = true;
  return reply;
}

Result<PutReply> S3Store::Written(const std::string& key, const S3Request& request,
                                  const HttpReply& reply, int64_t took_us) const {
  PutReply put;
  TL_ASSIGN_OR_RAISE(put.date_us, client_->DateOf(request, reply));
  put.info.key = key;
  put.info.size = request.body->size();
  put.info.identity = reply.Header("etag");
  // Older than it is would be safe, younger not: a put that took long may have been stored early.
  put.info.mtime_us = put.date_us;
  if (took_us > kSlowPutUs) {
    put.info.mtime_us -= FloorDiv(took_us, kMicrosPerSecond) * kMicrosPerSecond;
  }
  return put;
}

Result<PutReply> S3Store::Put(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) {
  if (bytes == nullptr) return InvalidArgument("{}: put without bytes", key);
  TL_ASSIGN_OR_RAISE(S3Request request, Request("PUT", key));
  request.body = std::move(bytes);
  const int64_t before = client_->clock().BootMicros();
  TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(request));
  if (reply.status != 200) return client_->Refused(request, reply);
  return Written(key, request, reply, client_->clock().BootMicros() - before);
}

Result<ConditionalPutReply> S3Store::PutIfMatch(const std::string& key,
                                                std::shared_ptr<arrow::Buffer> bytes,
                                                const std::optional<std::string>& expected) {
  if (bytes == nullptr) return InvalidArgument("{}: put without bytes", key);
  TL_ASSIGN_OR_RAISE(S3Request request, Request("PUT", key));
  TL_RETURN_NOT_OK(client_->EnsureConditionalPut(request.bucket, request.key));
  request.body = std::move(bytes);
  if (expected) {
    request.headers = {{"if-match", *expected}};
  } else {
    request.headers = {{"if-none-match", "*"}};
  }
  const int64_t before = client_->clock().BootMicros();
  TL_ASSIGN_OR_RAISE(const S3Client::Once sent, client_->SendOnce(request));
  ConditionalPutReply reply;
  reply.info.key = key;
  if (!sent.replied) {
    reply.outcome = PutOutcome::kNoReply;
    reply.message = fmt::format("{}: {}", request.Place(), sent.why);
    return reply;
  }
  const HttpReply& http = sent.reply;
  const std::string code = ParseS3Error(http.text()).code;
  if (http.status / 100 == 2) {
    // The object is stored. What the reply lacks must not turn that into "certainly not sent".
    auto written = Written(key, request, http, client_->clock().BootMicros() - before);
    if (!written.ok() || written->info.identity.empty()) {
      reply.outcome = PutOutcome::kNoReply;
      reply.message = fmt::format("{}: the reply has no Date or no ETag", request.Place());
      return reply;
    }
    reply.outcome = PutOutcome::kCreated;
    reply.info = std::move(written->info);
    reply.date_us = written->date_us;
    return reply;
  }
  const bool gone = expected.has_value() && http.status == 404 && code != "NoSuchBucket";
  if (http.status == 412 || gone) {
    reply.outcome = PutOutcome::kExists;
    reply.message = key + (expected ? " is not the object that was expected" : " exists");
  } else if (http.status == 409 &&
             (code.empty() || code == "ConditionalRequestConflict" || code == "OperationAborted")) {
    reply.outcome = PutOutcome::kRepeat;
    reply.message = fmt::format("{}: HTTP 409 {}", request.Place(), code);
  } else {
    return client_->Refused(request, http);
  }
  const auto date = client_->DateOf(request, http);
  reply.date_us = date.ok() ? *date : 0;
  return reply;
}

template <typename Page>
Result<int64_t> S3Store::ListPages(const std::string& prefix, bool folders, const Page& page) {
  const size_t slash = prefix.find('/');
  S3Request request;
  request.method = "GET";
  request.bucket = prefix.substr(0, slash);
  if (request.bucket.empty()) return InvalidArgument("'{}' names no bucket", prefix);
  NameValues query = {{"list-type", "2"}};
  if (slash != std::string::npos && slash + 1 < prefix.size()) {
    query.emplace_back("prefix", prefix.substr(slash + 1));
  }
  if (folders) query.emplace_back("delimiter", "/");
  int64_t date_us = -1;
  std::string token;
  std::set<std::string> tokens;
  do {
    request.query = query;
    if (!token.empty()) request.query.emplace_back("continuation-token", token);
    TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(request));
    if (reply.status != 200) return client_->Refused(request, reply);
    if (date_us < 0) {
      TL_ASSIGN_OR_RAISE(date_us, client_->DateOf(request, reply));
    }
    auto listing = ParseListing(reply.text());
    if (!listing.ok()) return WithContext(listing.status(), "s3://" + prefix);
    page(*listing);
    token = listing->next_token;
    if (!token.empty() && !tokens.insert(token).second) {
      return IoError("s3://{}: the store's listing goes in a circle", prefix);
    }
  } while (!token.empty());
  return date_us;
}

Result<ListReply> S3Store::List(const std::string& prefix) {
  const std::string bucket = prefix.substr(0, prefix.find('/')) + "/";
  ListReply reply;
  TL_ASSIGN_OR_RAISE(reply.date_us, ListPages(prefix, false, [&](S3Listing& page) {
                       for (auto& object : page.objects) {
                         reply.objects.push_back({bucket + object.key, object.size, object.mtime_us,
                                                  std::move(object.etag)});
                       }
                     }));
  const auto by_key = [](const ObjectInfo& a, const ObjectInfo& b) { return a.key < b.key; };
  if (!std::is_sorted(reply.objects.begin(), reply.objects.end(), by_key)) {
    std::sort(reply.objects.begin(), reply.objects.end(), by_key);
  }
  return reply;
}

Result<std::vector<std::string>> S3Store::ListFolders(const std::string& prefix) {
  if (!prefix.ends_with('/')) return InvalidArgument("'{}' must end in '/'", prefix);
  const size_t skip = prefix.size() - prefix.find('/') - 1;
  std::vector<std::string> names;
  TL_RETURN_NOT_OK(ListPages(prefix, true, [&](S3Listing& page) {
                     for (const std::string& found : page.prefixes) {
                       if (found.size() > skip + 1) {
                         names.push_back(found.substr(skip, found.size() - skip - 1));
                       }
                     }
                   }).status());
  std::sort(names.begin(), names.end());
  return names;
}

Status S3Store::Delete(const std::string& key) {
  TL_ASSIGN_OR_RAISE(const S3Request request, Request("DELETE", key));
  TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(request));
  if (reply.status / 100 == 2 || Missing(reply)) return Status::OK();
  return client_->Refused(request, reply);
}

Status S3Store::DeleteBatch(const std::string& bucket, const std::vector<std::string>& names) {
  const std::string xml = DeleteManyXml(names);
  S3Request request;
  request.method = "POST";
  request.bucket = bucket;
  request.query = {{"delete", ""}};
  request.headers = {{"content-type", "application/xml"}, {"content-md5", Md5Base64(xml)}};
  request.body = arrow::Buffer::FromString(xml);
  TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(request));
  if (reply.status != 200) return client_->Refused(request, reply);
  for (const S3Error& error : ParseDeleteErrors(reply.text())) {
    if (error.code == "NoSuchKey") continue;
    return IoError("s3://{}/{}: delete was refused: {} {}", bucket, error.key, error.code,
                   error.message);
  }
  return Status::OK();
}

Status S3Store::DeleteAll(const std::vector<std::string>& keys) {
  if (keys.size() == 1) return Delete(keys[0]);
  struct Batch {
    std::string bucket;
    std::vector<std::string> names;
  };
  std::vector<Batch> batches;
  for (const std::string& key : keys) {
    TL_ASSIGN_OR_RAISE(S3Key split, SplitS3Key(key));
    if (batches.empty() || batches.back().bucket != split.bucket ||
        batches.back().names.size() == kDeletesAtOnce) {
      batches.push_back({std::move(split.bucket), {}});
    }
    batches.back().names.push_back(std::move(split.name));
  }
  Status first;  // all are tried
  for (const Batch& batch : batches) {
    Status status = DeleteBatch(batch.bucket, batch.names);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

}  // namespace

Result<S3Key> SplitS3Key(const std::string& key) {
  const size_t slash = key.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == key.size()) {
    return InvalidArgument("'{}' is no key: bucket/name", key);
  }
  return S3Key{key.substr(0, slash), key.substr(slash + 1)};
}

std::shared_ptr<ObjectStore> MakeS3Store(S3Options options, EnvLookup env,
                                         std::shared_ptr<Clock> clock,
                                         std::shared_ptr<Random> random) {
  return std::make_shared<S3Store>(std::make_shared<S3Client>(std::move(options), std::move(env),
                                                              std::move(clock), std::move(random)));
}

Result<std::shared_ptr<ObjectStore>> OpenS3Store(
    const std::map<std::string, std::string>& storage_options) {
  TL_ASSIGN_OR_RAISE(S3Options options, ParseS3Options(storage_options, ProcessEnv()));
  return MakeS3Store(std::move(options), ProcessEnv(), SystemClock(), SystemRandom());
}

}  // namespace timelake::store

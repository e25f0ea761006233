#include "store/remote_store.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/civil_time.h"
#include "base/parallel.h"
#include "store/condition_probe.h"
#include "store/remote_error.h"

namespace timelake::store {
namespace {

constexpr int kParallel = 16;
constexpr size_t kDeletesAtOnce = 1000;
constexpr int64_t kSlowPutUs = kMicrosPerSecond;

bool Success(const HttpReply& reply) { return reply.status / 100 == 2; }

class RemoteStore : public ObjectStore {
 public:
  RemoteStore(std::shared_ptr<RemoteApi> api, std::shared_ptr<RemoteClient> client)
      : api_(std::move(api)), client_(std::move(client)), reader_(api_, client_) {}

  std::string scheme() const override { return api_->scheme(); }
  std::string origin() const override { return api_->origin(); }
  bool has_compare_and_swap() const override { return true; }

  Result<GetReply> Get(const std::string& key) override { return reader_.Get(key); }
  Result<HeadReply> Head(const std::string& key) override { return reader_.Head(key); }
  Result<PutReply> Put(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) override;
  Status PutAll(const std::vector<PutRequest>& requests) override {
    return ParallelFor(static_cast<int>(requests.size()), kParallel, [&](int i) {
      const PutRequest& request = requests[static_cast<size_t>(i)];
      return Put(request.key, request.bytes).status();
    });
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
    TL_ASSIGN_OR_RAISE(const ObjectName object, SplitKey(key));
    return MakePartUpload(api_->Upload(client_, object));
  }
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(
      const std::string& key, std::optional<int64_t> size) override {
    return reader_.OpenRead(key, UriOf(*this, key), size);
  }

 private:
  Status Refused(const RemoteRequest& request, const HttpReply& reply) const {
    return client_->Refused(request, reply, api_->HintOf(reply));
  }
  Result<PutReply> Written(const std::string& key, int64_t size, const RemoteRequest& request,
                           const HttpReply& reply, int64_t took_us) const;
  // Tries all, and returns the first error.
  Status DeleteEach(const std::string& bucket, const std::vector<std::string>& names);
  // All pages of a listing; `take` takes each. The store's time at the first.
  template <typename Take>
  Result<int64_t> ListPages(const std::string& prefix, bool folders, const Take& take);

  const std::shared_ptr<RemoteApi> api_;
  const std::shared_ptr<RemoteClient> client_;
  const RemoteReader reader_;
};

Result<PutReply> RemoteStore::Written(const std::string& key, int64_t size,
                                      const RemoteRequest& request, const HttpReply& reply,
                                      int64_t took_us) const {
  PutReply put;
  TL_ASSIGN_OR_RAISE(put.date_us, RemoteClient::DateOf(request, reply));
  put.info = api_->InfoOfPut(reply);
  put.info.key = key;
  put.info.size = size;
  if (put.info.mtime_us >= 0) return put;
  // The reply does not tell. Older than it is would be safe, younger not: a put that took long may
  // have been stored early.
  put.info.mtime_us = put.date_us;
  if (took_us > kSlowPutUs) {
    put.info.mtime_us -= FloorDiv(took_us, kMicrosPerSecond) * kMicrosPerSecond;
  }
  return put;
}

Result<PutReply> RemoteStore::Put(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) {
  if (bytes == nullptr) return InvalidArgument("{}: put without bytes", key);
  TL_ASSIGN_OR_RAISE(const ObjectName object, SplitKey(key));
  const int64_t size = bytes->size();
  const RemoteRequest request = api_->Put(object, std::move(bytes));
  const int64_t before = client_->clock().BootMicros();
  TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(request));
  if (!Success(reply)) return Refused(request, reply);
  return Written(key, size, request, reply, client_->clock().BootMicros() - before);
}

Result<ConditionalPutReply> RemoteStore::PutIfMatch(const std::string& key,
                                                    std::shared_ptr<arrow::Buffer> bytes,
                                                    const std::optional<std::string>& expected) {
  if (bytes == nullptr) return InvalidArgument("{}: put without bytes", key);
  TL_ASSIGN_OR_RAISE(const ObjectName object, SplitKey(key));
  TL_RETURN_NOT_OK(EnsureConditions(*api_, client_.get(), object));
  const int64_t size = bytes->size();
  TL_ASSIGN_OR_RAISE(const RemoteRequest request, api_->PutIf(object, std::move(bytes), expected));
  const int64_t before = client_->clock().BootMicros();
  TL_ASSIGN_OR_RAISE(const RemoteClient::Once sent, client_->SendOnce(request));
  ConditionalPutReply reply;
  reply.info.key = key;
  if (!sent.replied) {
    reply.outcome = PutOutcome::kNoReply;
    reply.message = fmt::format("{}: {}", request.place, sent.why);
    return reply;
  }
  const HttpReply& http = sent.reply;
  if (Success(http)) {
    // The object is stored. What the reply lacks must not turn that into "certainly not sent".
    auto written = Written(key, size, request, http, client_->clock().BootMicros() - before);
    if (!written.ok() || written->info.identity.empty()) {
      reply.outcome = PutOutcome::kNoReply;
      reply.message = fmt::format("{}: the reply does not say when it stored what", request.place);
      return reply;
    }
    reply.outcome = PutOutcome::kCreated;
    reply.info = std::move(written->info);
    reply.date_us = written->date_us;
    return reply;
  }
  const auto outcome = api_->OutcomeOf(http, expected.has_value());
  if (!outcome) return Refused(request, http);
  reply.outcome = *outcome;
  if (*outcome == PutOutcome::kExists) {
    reply.message = key + (expected ? " is not the object that was expected" : " exists");
  } else {
    reply.message =
        fmt::format("{}: HTTP {} {}", request.place, http.status, ParseRemoteError(http).code);
  }
  const auto date = RemoteClient::DateOf(request, http);
  reply.date_us = date.ok() ? *date : 0;
  return reply;
}

template <typename Take>
Result<int64_t> RemoteStore::ListPages(const std::string& prefix, bool folders, const Take& take) {
  const size_t slash = prefix.find('/');
  const std::string bucket = prefix.substr(0, slash);
  if (bucket.empty()) return InvalidArgument("'{}' names no bucket", prefix);
  const std::string below = slash == std::string::npos ? "" : prefix.substr(slash + 1);
  int64_t date_us = -1;
  std::string token;
  std::set<std::string> tokens;
  do {
    const RemoteRequest request = api_->List(bucket, below, folders, token);
    TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(request));
    if (reply.status != 200) return Refused(request, reply);
    if (date_us < 0) {
      TL_ASSIGN_OR_RAISE(date_us, RemoteClient::DateOf(request, reply));
    }
    auto page = api_->ParseList(reply.text());
    if (!page.ok()) return WithContext(page.status(), UriOf(*this, prefix));
    token = page->next;
    take(*page);
    if (!token.empty() && !tokens.insert(token).second) {
      return IoError("{}: the store's listing goes in a circle", UriOf(*this, prefix));
    }
  } while (!token.empty());
  return date_us;
}

Result<ListReply> RemoteStore::List(const std::string& prefix) {
  const std::string bucket = prefix.substr(0, prefix.find('/')) + "/";
  ListReply reply;
  TL_ASSIGN_OR_RAISE(reply.date_us, ListPages(prefix, false, [&](ListPage& page) {
                       for (ObjectInfo& object : page.objects) {
                         object.key.insert(0, bucket);
                         reply.objects.push_back(std::move(object));
                       }
                     }));
  const auto by_key = [](const ObjectInfo& a, const ObjectInfo& b) { return a.key < b.key; };
  if (!std::is_sorted(reply.objects.begin(), reply.objects.end(), by_key)) {
    std::sort(reply.objects.begin(), reply.objects.end(), by_key);
  }
  return reply;
}

Result<std::vector<std::string>> RemoteStore::ListFolders(const std::string& prefix) {
  if (!prefix.ends_with('/')) return InvalidArgument("'{}' must end in '/'", prefix);
  const size_t skip = prefix.size() - prefix.find('/') - 1;
  std::set<std::string> names;
  TL_RETURN_NOT_OK(ListPages(prefix, true, [&](ListPage& page) {
                     for (const std::string& found : page.folders) {
                       if (found.size() > skip + 1) {
                         names.insert(found.substr(skip, found.size() - skip - 1));
                       }
                     }
                   }).status());
  return std::vector<std::string>(names.begin(), names.end());
}

Status RemoteStore::Delete(const std::string& key) {
  TL_ASSIGN_OR_RAISE(const ObjectName object, SplitKey(key));
  const RemoteRequest request = api_->Delete(object);
  TL_ASSIGN_OR_RAISE(const HttpReply reply, client_->Send(request));
  if (Success(reply) || IsMissing(reply)) return Status::OK();
  return Refused(request, reply);
}

Status RemoteStore::DeleteEach(const std::string& bucket, const std::vector<std::string>& names) {
  std::vector<Status> done(names.size());
  (void)ParallelFor(static_cast<int>(names.size()), kParallel, [&](int i) {
    const auto at = static_cast<size_t>(i);
    done[at] = Delete(bucket + "/" + names[at]);
    return Status::OK();
  });
  const auto failed =
      std::find_if(done.begin(), done.end(), [](const Status& status) { return !status.ok(); });
  return failed == done.end() ? Status::OK() : *failed;
}

Status RemoteStore::DeleteAll(const std::vector<std::string>& keys) {
  if (keys.size() == 1) return Delete(keys[0]);
  std::map<std::string, std::vector<std::string>> buckets;
  for (const std::string& key : keys) {
    TL_ASSIGN_OR_RAISE(ObjectName object, SplitKey(key));
    buckets[object.bucket].push_back(std::move(object.name));
  }
  Status first;  // all are tried
  for (const auto& [bucket, names] : buckets) {
    for (size_t from = 0; from < names.size(); from += kDeletesAtOnce) {
      const std::vector<std::string> batch(
          names.begin() + static_cast<std::ptrdiff_t>(from),
          names.begin() +
              static_cast<std::ptrdiff_t>(std::min(names.size(), from + kDeletesAtOnce)));
      auto done = api_->DeleteMany(client_.get(), bucket, batch);
      Status status = done.status();
      if (done.ok() && !*done) status = DeleteEach(bucket, batch);
      if (first.ok()) first = std::move(status);
    }
  }
  return first;
}

}  // namespace

std::shared_ptr<ObjectStore> MakeRemoteStore(std::shared_ptr<RemoteApi> api,
                                             std::shared_ptr<RemoteClient> client) {
  return std::make_shared<RemoteStore>(std::move(api), std::move(client));
}

}  // namespace timelake::store

#include "store/web_store.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "store/remote_store.h"
#include "store/scheme.h"
#include "store/web_index.h"

namespace timelake::store {
namespace {

constexpr std::string_view kVersions = "/metadata/v";
constexpr const char* kHint = "/metadata/version-hint.text";
constexpr int64_t kMaxVersion = 1'000'000'000'000;

// Nobody asks for credentials.
class NoAuthorizer : public Authorizer {
 public:
  Status Authorize(RemoteRequest* /*request*/, int64_t /*now_us*/) override { return Status::OK(); }
  bool Renew(const RemoteRequest& /*sent*/, const HttpReply& /*reply*/) override { return false; }
  void Redact(std::string* /*text*/) const override {}
};

class WebApi : public ReadApi {
 public:
  explicit WebApi(std::string scheme) : scheme_(std::move(scheme)) {}

  std::string scheme() const override { return scheme_; }
  bool needs_date() const override { return false; }
  RemoteRequest Get(const ObjectName& object) const override { return Request("GET", object); }
  RemoteRequest Head(const ObjectName& object) const override { return Request("HEAD", object); }

  // A server may tell little. What it lacks makes readers ask more often.
  Result<ObjectInfo> InfoOf(const RemoteRequest& /*request*/,
                            const HttpReply& reply) const override {
    ObjectInfo info;
    info.mtime_us = std::max<int64_t>(0, ParseHttpDate(reply.Header("last-modified")));
    const auto size = ParseInt64(reply.Header("content-length"));
    info.size = size.ok() ? *size : -1;
    info.identity = reply.Header("etag");
    if (info.identity.empty()) {
      info.identity = reply.Header("last-modified") + "/" + reply.Header("content-length");
    }
    return info;
  }

  std::string HintOf(const HttpReply& reply) const override {
    if (reply.status / 100 != 3) return "";
    return "it sends on to " + Quote(reply.Header("location")) + ": open that";
  }

 private:
  RemoteRequest Request(const char* method, const ObjectName& object) const {
    RemoteRequest request;
    request.method = method;
    request.base = scheme_ + "://" + object.bucket;
    request.path = "/" + UriEncode(object.name, true);
    request.place = request.base + request.path;
    request.holder = "host " + object.bucket;
    return request;
  }

  const std::string scheme_;
};

class WebStore : public ObjectStore {
 public:
  WebStore(std::shared_ptr<WebApi> api, std::string root, std::shared_ptr<RemoteClient> client)
      : scheme_(api->scheme()),
        root_(std::move(root)),
        client_(std::move(client)),
        reader_(std::move(api), client_) {}

  std::string scheme() const override { return scheme_; }
  bool has_compare_and_swap() const override { return false; }

  Result<GetReply> Get(const std::string& key) override { return reader_.Get(key); }
  Result<HeadReply> Head(const std::string& key) override { return reader_.Head(key); }
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(
      const std::string& key, std::optional<int64_t> size) override {
    return reader_.OpenRead(key, UriOf(*this, key), size);
  }
  Result<ListReply> List(const std::string& prefix) override;
  Result<std::vector<std::string>> ListFolders(const std::string& prefix) override;

  Status Sync(const std::vector<std::string>& /*keys*/) override { return Status::OK(); }
  Result<PutReply> Put(const std::string& key, std::shared_ptr<arrow::Buffer>) override {
    return CheckWritable(*this, key);
  }
  Result<ConditionalPutReply> PutIfAbsent(const std::string& key,
                                          std::shared_ptr<arrow::Buffer>) override {
    return CheckWritable(*this, key);
  }
  Result<ConditionalPutReply> PutIfMatch(const std::string& key, std::shared_ptr<arrow::Buffer>,
                                         const std::optional<std::string>&) override {
    return CheckWritable(*this, key);
  }
  Status Delete(const std::string& key) override { return CheckWritable(*this, key); }
  Result<std::shared_ptr<arrow::io::OutputStream>> OpenWrite(const std::string& key) override {
    return CheckWritable(*this, key);
  }

 private:
  // nullopt: the warehouse has none.
  Result<std::optional<WebIndex>> Index() const;
  Status NothingListed(const std::string& prefix) const;
  // From which the newest version of the table in `folder` is looked for upwards; 0: none is known.
  Result<int64_t> VersionToBegin(const std::string& folder) const;

  const std::string scheme_;
  const std::string root_;
  const std::shared_ptr<RemoteClient> client_;
  const RemoteReader reader_;
};

Result<std::optional<WebIndex>> WebStore::Index() const {
  for (const char* name : {kWebIndexName, kNamesIndexName}) {
    const std::string key = root_ + "/" + name;
    TL_ASSIGN_OR_RAISE(const GetReply reply, reader_.Get(key));
    if (!reply.found) continue;
    auto index = ParseWebIndex({reinterpret_cast<const char*>(reply.bytes->data()),
                                static_cast<size_t>(reply.bytes->size())});
    if (!index.ok()) return WithContext(index.status(), UriOf(*this, key));
    return *std::move(index);
  }
  return std::nullopt;
}

Status WebStore::NothingListed(const std::string& prefix) const {
  return Unsupported(
      "{}: a web server lists nothing, and {} has no {}: `timelake publish` writes it",
      UriOf(*this, prefix), UriOf(*this, root_), kWebIndexName);
}

Result<int64_t> WebStore::VersionToBegin(const std::string& folder) const {
  const auto there = [&](int64_t version) -> Result<bool> {
    TL_ASSIGN_OR_RAISE(const HeadReply head, reader_.Head(fmt::format("{}{}{}.metadata.json",
                                                                      folder, kVersions, version)));
    return head.found;
  };
  TL_ASSIGN_OR_RAISE(const GetReply hint, reader_.Get(folder + kHint));
  int64_t hinted = 0;
  if (hint.found) {
    const auto number = ParseInt64(Trim(hint.bytes->ToString()));
    if (number.ok() && *number > 0 && *number < kMaxVersion) hinted = *number;
  }
  TL_ASSIGN_OR_RAISE(const auto index, Index());
  int64_t indexed = 0;
  if (index) {
    for (const auto& table : index->tables) {
      if (root_ + "/" + table.folder() == folder) indexed = table.version;
    }
  }
  for (const int64_t version : {std::max(hinted, indexed), std::min(hinted, indexed)}) {
    if (version == 0) continue;
    TL_ASSIGN_OR_RAISE(const bool found, there(version));
    if (found) return version;
  }
  return 0;
}

Result<ListReply> WebStore::List(const std::string& prefix) {
  if (!prefix.ends_with(kVersions) || prefix.size() == kVersions.size()) {
    return NothingListed(prefix);
  }
  const std::string folder = prefix.substr(0, prefix.size() - kVersions.size());
  ListReply reply;
  TL_ASSIGN_OR_RAISE(int64_t version, VersionToBegin(folder));
  while (true) {
    TL_ASSIGN_OR_RAISE(
        const HeadReply head,
        reader_.Head(fmt::format("{}{}.metadata.json", prefix, std::max<int64_t>(version, 1))));
    reply.date_us = head.date_us;
    if (!head.found) return reply;
    reply.objects = {head.info};
    version = std::max<int64_t>(version, 1) + 1;
  }
}

Result<std::vector<std::string>> WebStore::ListFolders(const std::string& prefix) {
  if (!prefix.ends_with('/')) return InvalidArgument("'{}' must end in '/'", prefix);
  TL_ASSIGN_OR_RAISE(const auto index, Index());
  if (!index || !prefix.starts_with(root_ + "/")) return NothingListed(prefix);
  const std::string below = prefix.substr(root_.size() + 1);
  std::set<std::string> names;
  for (const auto& table : index->tables) {
    const std::string folder = table.folder() + "/";
    if (!folder.starts_with(below)) continue;
    const std::string rest = folder.substr(below.size());
    if (!rest.empty()) names.insert(rest.substr(0, rest.find('/')));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace

Result<RemoteOptions> ParseWebOptions(const std::map<std::string, std::string>& options,
                                      const EnvLookup& env) {
  RemoteOptions parsed;
  std::vector<OptionField> fields = RemoteFields(&parsed);
  // As elsewhere; the location says it already.
  fields.push_back({{"allow_http"}, {}, SetFlag(&parsed.allow_http)});
  TL_RETURN_NOT_OK(ApplyOptions(fields, options, env, "an https:// warehouse").status());
  return parsed;
}

std::shared_ptr<ObjectStore> MakeWebStore(RemoteOptions options, std::string uri_scheme,
                                          std::string root, std::shared_ptr<Clock> clock,
                                          std::shared_ptr<Random> random) {
  auto client = std::make_shared<RemoteClient>(std::move(options), std::make_shared<NoAuthorizer>(),
                                               std::move(clock), std::move(random));
  return std::make_shared<WebStore>(std::make_shared<WebApi>(std::move(uri_scheme)),
                                    std::move(root), std::move(client));
}

}  // namespace timelake::store

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/object_store.h"
#include "store/part_upload.h"
#include "store/remote_client.h"

namespace timelake::store {

struct ObjectName {
  std::string bucket;  // for Azure: the container
  std::string name;
};
// "bucket/name" -> the two. kInvalidArgument if either is empty.
Result<ObjectName> SplitKey(const std::string& key);

// One page of a listing. Keys are without the bucket.
struct ListPage {
  std::vector<ObjectInfo> objects;
  std::vector<std::string> folders;  // with the slash at their end
  std::string next;                  // empty: this was the last page
};

// A kind of store that is reached over HTTP: its requests, and what their replies mean.
// Thread-safe.
class ReadApi {
 public:
  virtual ~ReadApi() = default;
  virtual std::string scheme() const = 0;

  virtual RemoteRequest Get(const ObjectName& object) const = 0;
  virtual RemoteRequest Head(const ObjectName& object) const = 0;
  // Identity, time and size (-1: not told) of what `reply` to Get or Head speaks of; the key is set
  // by the caller.
  virtual Result<ObjectInfo> InfoOf(const RemoteRequest& request, const HttpReply& reply) const = 0;
  // More on a refusal, for the message.
  virtual std::string HintOf(const HttpReply& /*reply*/) const { return ""; }
  // Whether commits rest on the Date of its replies; else the machine's clock will do.
  virtual bool needs_date() const { return true; }
};

// Get, Head and OpenRead of an ObjectStore, by the requests of `api`. A missing object (not a
// missing bucket) is an answer.
class RemoteReader {
 public:
  RemoteReader(std::shared_ptr<const ReadApi> api, std::shared_ptr<RemoteClient> client)
      : api_(std::move(api)), client_(std::move(client)) {}

  Result<GetReply> Get(const std::string& key) const;
  Result<HeadReply> Head(const std::string& key) const;
  // `uri`: for messages.
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(const std::string& key,
                                                                const std::string& uri,
                                                                std::optional<int64_t> size) const;

 private:
  Result<int64_t> DateOf(const RemoteRequest& request, const HttpReply& reply) const;

  const std::shared_ptr<const ReadApi> api_;
  const std::shared_ptr<RemoteClient> client_;
};

// The 404 of an object is an answer, that of a bucket is none.
bool IsMissing(const HttpReply& reply);

// As ReadApi, of a store that can be written, too.
class RemoteApi : public ReadApi {
 public:
  virtual std::string origin() const = 0;  // see ObjectStore
  virtual RemoteRequest Put(const ObjectName& object,
                            std::shared_ptr<arrow::Buffer> bytes) const = 0;
  // Only if the object's identity is `expected`; nullopt: only if there is none.
  virtual Result<RemoteRequest> PutIf(const ObjectName& object,
                                      std::shared_ptr<arrow::Buffer> bytes,
                                      const std::optional<std::string>& expected) const = 0;
  virtual RemoteRequest Delete(const ObjectName& object) const = 0;
  // The page behind `token` (empty: the first), of objects or of folders one level down.
  virtual RemoteRequest List(const std::string& bucket, const std::string& prefix, bool folders,
                             const std::string& token) const = 0;
  virtual Result<ListPage> ParseList(std::string_view text) const = 0;

  // As InfoOf, of a put. What the reply does not tell stays empty: no identity, time -1.
  virtual ObjectInfo InfoOfPut(const HttpReply& reply) const = 0;
  // What an answer to PutIf with a status of 3xx or 4xx says; nullopt: the put was refused.
  virtual std::optional<PutOutcome> OutcomeOf(const HttpReply& reply, bool expected) const = 0;

  virtual std::unique_ptr<PartTarget> Upload(std::shared_ptr<RemoteClient> client,
                                             const ObjectName& object) const = 0;
  // Of a store that is not known to honour conditions: its endpoint, which is then asked by a probe
  // (store/condition_probe.h) before the first conditional put. Empty: known.
  virtual std::string endpoint_to_probe() const = 0;
  virtual const char* condition() const { return "If-None-Match"; }  // for messages
  // Many at once, where the store can; false: it cannot. All of one bucket.
  virtual Result<bool> DeleteMany(RemoteClient* /*client*/, const std::string& /*bucket*/,
                                  const std::vector<std::string>& /*names*/) const {
    return false;
  }
};

// Where an object has a URL of its own, and the method says what is done with it.
class UrlApi : public RemoteApi {
 public:
  // `name` empty: a request to the bucket.
  virtual RemoteRequest Request(const char* method, const std::string& bucket,
                                const std::string& name) const = 0;

  RemoteRequest Get(const ObjectName& object) const override {
    return Request("GET", object.bucket, object.name);
  }
  RemoteRequest Head(const ObjectName& object) const override {
    return Request("HEAD", object.bucket, object.name);
  }
  RemoteRequest Delete(const ObjectName& object) const override {
    return Request("DELETE", object.bucket, object.name);
  }
};

// Keys are "bucket/name"; the first request is made by the first call. Times have whole seconds, as
// Last-Modified and Date have them. A conditional put goes out once: repeating it, and reading it
// back when its reply was lost, is the commit's business, which must know of every sending.
std::shared_ptr<ObjectStore> MakeRemoteStore(std::shared_ptr<RemoteApi> api,
                                             std::shared_ptr<RemoteClient> client);

}  // namespace timelake::store

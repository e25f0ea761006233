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

// A kind of object store: its requests, and what their replies mean. Thread-safe.
class RemoteApi {
 public:
  virtual ~RemoteApi() = default;
  virtual std::string scheme() const = 0;
  virtual std::string origin() const = 0;  // see ObjectStore

  virtual RemoteRequest Get(const ObjectName& object) const = 0;
  virtual RemoteRequest Head(const ObjectName& object) const = 0;
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

  // Identity, time and size (-1: not told) of what `reply` to Get or Head speaks of; the key is set
  // by the caller.
  virtual Result<ObjectInfo> InfoOf(const HttpReply& reply) const = 0;
  // As InfoOf, of a put. What the reply does not tell stays empty: no identity, time -1.
  virtual ObjectInfo InfoOfPut(const HttpReply& reply) const = 0;
  // What an answer to PutIf with a status of 3xx or 4xx says; nullopt: the put was refused.
  virtual std::optional<PutOutcome> OutcomeOf(const HttpReply& reply, bool expected) const = 0;
  // More on a refusal, for the message.
  virtual std::string HintOf(const HttpReply& /*reply*/) const { return ""; }

  virtual std::unique_ptr<PartTarget> Upload(std::shared_ptr<RemoteClient> client,
                                             const ObjectName& object) const = 0;
  // Before the first conditional put to a place of which it is not known that it honours them.
  virtual Status CheckConditions(RemoteClient* /*client*/, const ObjectName& /*object*/) const {
    return Status::OK();
  }
  // Many at once, where the store can; false: it cannot. All of one bucket.
  virtual Result<bool> DeleteMany(RemoteClient* /*client*/, const std::string& /*bucket*/,
                                  const std::vector<std::string>& /*names*/) const {
    return false;
  }
};

// Keys are "bucket/name"; the first request is made by the first call. Times have whole seconds, as
// Last-Modified and Date have them. A conditional put goes out once: repeating it, and reading it
// back when its reply was lost, is the commit's business, which must know of every sending.
std::shared_ptr<ObjectStore> MakeRemoteStore(std::shared_ptr<RemoteApi> api,
                                             std::shared_ptr<RemoteClient> client);

}  // namespace timelake::store

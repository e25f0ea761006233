#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include "base/error.h"

namespace timelake::store {

// A place that holds immutable objects under string keys. A key is a URI without its scheme:
// "/data/wh/default/cpu/metadata/v1.metadata.json" on local disk, "bucket/wh/..." in an object
// store. Keys are taken byte for byte: nothing is percent-decoded. Thread-safe.
//
// The commit protocol (docs/commit-protocol.md) rests on three promises of every kind:
//   - PutIfAbsent creates a key at most once, whoever asks;
//   - a reply's `date_us` and an object's `mtime_us` come from the same (the store's) clock;
//   - `identity` differs between two objects that were ever stored under one key.
struct ObjectInfo {
  std::string key;
  int64_t size = 0;
  int64_t mtime_us = 0;  // store time: Last-Modified; on local disk st_ctime
  std::string identity;  // ETag or generation; on local disk inode and ctime
};

struct GetReply {
  bool found = false;
  std::shared_ptr<arrow::Buffer> bytes;  // null when not found
  ObjectInfo info;                       // only the key when not found
  int64_t date_us = 0;                   // the store's clock when it answered
};

struct HeadReply {
  bool found = false;
  ObjectInfo info;
  int64_t date_us = 0;
};

struct PutReply {
  ObjectInfo info;
  int64_t date_us = 0;
};

// What a conditional put was answered. Only `kCreated` (also of a successful PutIfMatch) says that
// the request had effect; `kNoReply` and `kRepeat` say nothing about it, `kExists` only that the
// key was taken when the store looked (perhaps by an earlier send of the same bytes).
enum class PutOutcome {
  kCreated,  // stored by this request
  kExists,   // 412: the key exists, or its identity is not the expected one
  kRepeat,   // 409 and the like: nothing decided, send the same again
  kNoReply,  // connection lost, time-out: may or may not be stored
};

struct ConditionalPutReply {
  PutOutcome outcome = PutOutcome::kNoReply;
  ObjectInfo info;      // of the object just stored, when kCreated
  int64_t date_us = 0;  // 0 when kNoReply
  std::string message;  // why, when not kCreated
};

struct ListReply {
  std::vector<ObjectInfo> objects;  // ascending by key, all pages
  int64_t date_us = 0;              // the store's clock at the first page
};

struct PutRequest {
  std::string key;
  std::shared_ptr<arrow::Buffer> bytes;
};

// Bytes on their way to a PutIfAbsent. Destroying it before leaves nothing behind.
class StagedPut {
 public:
  virtual ~StagedPut() = default;
  // Makes the bytes durable. Once, by one thread, and not during the put.
  virtual Status Sync() = 0;
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // Whole object. A missing key is a reply, not an error; an error means that no reply came.
  virtual Result<GetReply> Get(const std::string& key) = 0;
  virtual Result<HeadReply> Head(const std::string& key) = 0;

  // Creates or replaces. Not durable until `Sync`.
  virtual Result<PutReply> Put(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) = 0;

  // As `Put` for each, concurrently where the store gains from it. Stops at the first error.
  virtual Status PutAll(const std::vector<PutRequest>& requests);

  // Makes the named objects and the folders that lead to them survive a power loss (fdatasync of
  // each, fsync of the folders); object stores do nothing.
  virtual Status Sync(const std::vector<std::string>& keys) = 0;

  // Sync will be asked to do so for these, which are not written again: it may begin.
  virtual void SyncSoon(const std::vector<std::string>& keys);

  // Does what a later PutIfAbsent of the very same buffer would make wait, as far as nobody can see
  // it: the local store writes the bytes to a file without a name, so that they need not become
  // durable only then. Null: there is nothing to gain.
  virtual std::shared_ptr<StagedPut> Stage(const std::string& key,
                                           const std::shared_ptr<arrow::Buffer>& bytes);

  // Creates `key` if it does not exist; durable when it answers kCreated. Never an error for what
  // a store may answer: see PutOutcome. An error means that the request was certainly not sent.
  virtual Result<ConditionalPutReply> PutIfAbsent(const std::string& key,
                                                  std::shared_ptr<arrow::Buffer> bytes) = 0;

  // Compare-and-swap: writes if the object's identity is `expected` (nullopt: if there is none).
  // Only where `has_compare_and_swap()`.
  virtual Result<ConditionalPutReply> PutIfMatch(const std::string& key,
                                                 std::shared_ptr<arrow::Buffer> bytes,
                                                 const std::optional<std::string>& expected) = 0;
  virtual bool has_compare_and_swap() const = 0;

  // All objects whose key starts with `prefix` (not only whole path segments), at any depth.
  virtual Result<ListReply> List(const std::string& prefix) = 0;

  // Names directly below the folder `prefix` (which ends in '/'): sub-folders only, without
  // slashes, ascending.
  virtual Result<std::vector<std::string>> ListFolders(const std::string& prefix) = 0;

  // A missing key is fine.
  virtual Status Delete(const std::string& key) = 0;

  // Deletes each; the first error is returned after all were tried.
  virtual Status DeleteAll(const std::vector<std::string>& keys);

  // Streaming write of a new object; it appears under its key when Close returns ok. Not durable
  // until `Sync`. Destroying or aborting an unclosed stream leaves nothing behind.
  virtual Result<std::shared_ptr<arrow::io::OutputStream>> OpenWrite(const std::string& key) = 0;

  // Random access to an immutable object. Missing -> kNotFound naming the key.
  virtual Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(
      const std::string& key, std::optional<int64_t> size = std::nullopt) = 0;

  // "file", "memory", "s3", ...; scheme of the URIs that this store's keys form.
  virtual std::string scheme() const = 0;

  // What tells stores of one scheme apart, for names in a cache that processes share: scheme and
  // endpoint or account. No secrets.
  virtual std::string origin() const { return scheme(); }

  // The store below one that keeps what it has read, or writes later; null if this is no such.
  virtual std::shared_ptr<ObjectStore> direct() { return nullptr; }
};

// What is asked of it is asked of the store itself: for objects that may change, and to verify.
std::shared_ptr<ObjectStore> DirectStore(std::shared_ptr<ObjectStore> store);

// Whether a request takes long enough to be worth avoiding.
bool IsRemote(const ObjectStore& store);

// The URI recorded in table metadata for `key`: "file:///a/b" for a local "/a/b".
std::string UriOf(const ObjectStore& store, std::string_view key);

// Key of a URI, whatever spelling another engine recorded: "file:///a", "file:/a", "/a",
// "s3://b/k", "s3a://b/k". Nothing is decoded. kUnsupported for a scheme the store does not serve.
Result<std::string> KeyOf(const ObjectStore& store, std::string_view uri);

// `location` as the user gave it -> key of the warehouse root without trailing slash, and the kind
// of store. A bare path is local and made absolute; "~" and "~/" expand to the home folder.
struct Location {
  std::string scheme;  // "file", "memory", "s3", ...
  std::string root;    // key
};
Result<Location> ParseLocation(std::string_view location);

}  // namespace timelake::store

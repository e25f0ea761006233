#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "store/object_store.h"

namespace timelake::store {

// Objects in memory, with the semantics of an object store that has conditional puts: one clock
// for dates and modification times, a generation number as identity.
// Streams must not outlive it. Thread-safe.
class MemoryStore : public ObjectStore {
 public:
  explicit MemoryStore(std::shared_ptr<Clock> clock) : clock_(std::move(clock)) {}

  std::string scheme() const override { return "memory"; }
  bool has_compare_and_swap() const override { return true; }

  Result<GetReply> Get(const std::string& key) override;
  Result<HeadReply> Head(const std::string& key) override;
  Result<PutReply> Put(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) override;
  Status Sync(const std::vector<std::string>& keys) override;  // kNotFound for a missing key
  Result<ConditionalPutReply> PutIfAbsent(const std::string& key,
                                          std::shared_ptr<arrow::Buffer> bytes) override;
  Result<ConditionalPutReply> PutIfMatch(const std::string& key,
                                         std::shared_ptr<arrow::Buffer> bytes,
                                         const std::optional<std::string>& expected) override;
  Result<ListReply> List(const std::string& prefix) override;
  Result<std::vector<std::string>> ListFolders(const std::string& prefix) override;
  Status Delete(const std::string& key) override;
  Result<std::shared_ptr<arrow::io::OutputStream>> OpenWrite(const std::string& key) override;
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(
      const std::string& key, std::optional<int64_t> size = std::nullopt) override;

  // An object with its times, as it lies there; for stores that model more on top (power loss).
  struct Object {
    std::shared_ptr<arrow::Buffer> bytes;
    ObjectInfo info;
  };
  std::optional<Object> Find(const std::string& key) const;
  void Restore(const std::string& key, std::optional<Object> object);  // nullopt: removes it

 private:
  ObjectInfo Store(const std::string& key, std::shared_ptr<arrow::Buffer> bytes);

  const std::shared_ptr<Clock> clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Object> objects_;  // ordered bytewise
  uint64_t last_generation_ = 0;
};

std::shared_ptr<ObjectStore> MakeMemoryStore(std::shared_ptr<Clock> clock);

// The store behind memory://`name`, one for the process, on the machine's clock. It lives as long
// as the process, so that a lake closed and opened again is still there.
std::shared_ptr<ObjectStore> SharedMemoryStore(const std::string& name);

}  // namespace timelake::store

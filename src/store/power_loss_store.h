#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/random.h"
#include "store/memory_store.h"

namespace timelake::store {

// A disk that can lose its power, for the simulation: a MemoryStore that remembers, for every
// object written or deleted but not yet durable, what would be there instead. The rules are those
// that LocalStore keeps and file systems grant:
//   - Put and OpenWrite are volatile until Sync names the key; until then the name may vanish, or
//     stay with other bytes;
//   - PutIfAbsent makes its own object durable before it answers, and no other;
//   - PutIfMatch replaces whole objects: after a power loss the old or the new one is there;
//   - Delete may or may not have reached the disk.
// Processes that share the disk share one instance. Thread-safe.
class PowerLossStore : public ObjectStore {
 public:
  explicit PowerLossStore(std::shared_ptr<MemoryStore> disk) : disk_(std::move(disk)) {}

  // Without `random`: everything that is not durable is undone. With it, each object's fate is
  // drawn: undone, kept, or (if written without being durable) kept with wrong bytes. What is there
  // afterwards is durable. Streams that are open now can no longer be closed with success.
  void PowerLoss(Random* random = nullptr);

  std::string scheme() const override { return disk_->scheme(); }
  bool has_compare_and_swap() const override { return true; }

  Result<GetReply> Get(const std::string& key) override { return disk_->Get(key); }
  Result<HeadReply> Head(const std::string& key) override { return disk_->Head(key); }
  Result<PutReply> Put(const std::string& key, std::shared_ptr<arrow::Buffer> bytes) override;
  Status Sync(const std::vector<std::string>& keys) override;
  Result<ConditionalPutReply> PutIfAbsent(const std::string& key,
                                          std::shared_ptr<arrow::Buffer> bytes) override;
  Result<ConditionalPutReply> PutIfMatch(const std::string& key,
                                         std::shared_ptr<arrow::Buffer> bytes,
                                         const std::optional<std::string>& expected) override;
  Result<ListReply> List(const std::string& prefix) override { return disk_->List(prefix); }
  Result<std::vector<std::string>> ListFolders(const std::string& prefix) override {
    return disk_->ListFolders(prefix);
  }
  Status Delete(const std::string& key) override;
  Result<std::shared_ptr<arrow::io::OutputStream>> OpenWrite(const std::string& key) override;
  Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenRead(
      const std::string& key, std::optional<int64_t> size = std::nullopt) override {
    return disk_->OpenRead(key, size);
  }

 private:
  struct Undecided {
    std::optional<MemoryStore::Object> durable;  // what is certainly on the disk
    bool may_tear = false;                       // are the bytes of the present object at risk
  };

  // The object under `key` was `before` and has just been changed or deleted.
  void Note(const std::string& key, std::optional<MemoryStore::Object> before, bool may_tear);

  const std::shared_ptr<MemoryStore> disk_;
  std::mutex mutex_;
  std::map<std::string, Undecided> undecided_;
  uint64_t losses_ = 0;
};

}  // namespace timelake::store

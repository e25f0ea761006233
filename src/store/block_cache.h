#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/thread_pool.h>

#include "base/error.h"
#include "store/disk_cache.h"
#include "store/read_plan.h"
#include "timelake/lake.h"

namespace timelake::store {

// An immutable object as the cache reads it. The file's ReadAt is a request.
struct CachedObject {
  std::string name;  // unlike that of any other object, also of other stores
  int64_t size = 0;
  std::shared_ptr<arrow::io::RandomAccessFile> file;
};

// Blocks of immutable objects in memory, least recently used out first beyond a budget, over an
// optional folder on disk. A block is asked for once however many readers want it at one time;
// reads ahead run on threads of the cache's own. Thread-safe.
class BlockCache {
 public:
  static constexpr int64_t kBlock = int64_t{64} << 10;

  // Bytes of an object from `offset` on.
  struct Piece {
    std::shared_ptr<arrow::Buffer> bytes;
    int64_t offset = 0;
  };

  struct Limits {
    int64_t memory_bytes = 0;
    int64_t request_bytes = 0;  // of one request, at most; rounded up to blocks
    int64_t gap_bytes = 0;      // see PlanRequests
  };

  BlockCache(Limits limits, std::shared_ptr<DiskCache> disk,
             std::function<void(const char* name, int64_t value)> metric);
  ~BlockCache();

  // Fewer bytes only at the end of the object.
  Result<std::shared_ptr<arrow::Buffer>> Read(const std::shared_ptr<CachedObject>& object,
                                              int64_t position, int64_t bytes);

  // Has the ranges fetched, without waiting. What fails is asked for again by who reads it.
  void WillNeed(const std::shared_ptr<CachedObject>& object, const std::vector<ByteRange>& ranges);

  // A small object that is read whole, by the disk alone: its readers keep what they make of it.
  std::shared_ptr<arrow::Buffer> LoadWhole(const std::string& name);
  void StoreWhole(const std::string& name, const arrow::Buffer& bytes);

  CacheStats stats() const;

 private:
  struct BlockId {
    std::shared_ptr<CachedObject> object;
    int64_t block;
    bool operator==(const BlockId& other) const {
      return block == other.block && (object == other.object || object->name == other.object->name);
    }
  };
  struct BlockHash {
    size_t operator()(const BlockId& id) const {
      return std::hash<std::string>()(id.object->name) * 31 + static_cast<size_t>(id.block);
    }
  };
  // One request: whole blocks.
  struct Fetch {
    std::shared_ptr<CachedObject> object;
    int64_t first = 0, count = 0;  // blocks
    bool done = false;
    Status status;
    std::shared_ptr<arrow::Buffer> bytes;

    int64_t offset() const { return first * kBlock; }
  };
  struct Slot {
    std::shared_ptr<arrow::Buffer> bytes;  // or:
    std::shared_ptr<Fetch> fetch;          // under way
    bool ahead = false;                    // fetched, and not read yet
    std::list<BlockId>::iterator place;    // in order_, when there are bytes
  };
  using Fetches = std::vector<std::shared_ptr<Fetch>>;

  // One piece a block of the range. A failure of what this call asked for itself is its result;
  // `others` is that of what somebody else had asked for. Pieces that are there stay.
  Status Collect(const std::shared_ptr<CachedObject>& object, const ByteRange& range,
                 std::vector<Piece>* pieces, Status* others);
  // With the lock: claims what is neither there nor under way.
  Fetches Claim(const std::shared_ptr<CachedObject>& object, const std::vector<ByteRange>& ranges);
  void Run(const std::shared_ptr<Fetch>& fetch);
  void Keep(const Fetch& fetch, const std::vector<bool>& from_disk);
  Status Get(Fetch* fetch, std::vector<bool>* from_disk);
  void Publish(const std::shared_ptr<Fetch>& fetch, Status status);
  bool NoLongerAhead(Slot* slot);
  void Shrink();
  bool InBackground(const std::shared_ptr<Fetch>& fetch);
  std::string NameOf(const CachedObject& object, int64_t block) const;

  const Limits limits_;
  const std::shared_ptr<DiskCache> disk_;  // may be null
  const std::function<void(const char*, int64_t)> metric_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<BlockId, Slot, BlockHash> slots_;
  std::list<BlockId> order_;  // most recent first
  int64_t used_ = 0;
  int64_t ahead_ = 0;  // slots with that flag
  CacheStats stats_;
  std::shared_ptr<arrow::internal::ThreadPool> threads_;  // the last member: ends first
};

}  // namespace timelake::store

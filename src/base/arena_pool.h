#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <arrow/memory_pool.h>

namespace timelake {

// Memory that all threads take from the same place, for work that goes through much of it in
// phases. What one phase frees, in pieces of any size and on any thread, joins its free neighbours
// and is the memory of the next phase: the process grows to what is needed at once, and no page is
// given back and cleared again in between, as it is where each thread or size has memory of its
// own. Pieces of less than a few pages are of Arrow's system pool. Thread-safe.
class ArenaPool : public arrow::MemoryPool {
 public:
  ArenaPool();
  // All that was taken must have been freed.
  ~ArenaPool() override;

  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;
  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override;
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                           uint8_t** ptr) override;
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override;
  // Gives all free memory back to the system.
  void ReleaseUnused() override;

  int64_t bytes_allocated() const override { return used_; }
  int64_t max_memory() const override { return most_; }
  int64_t total_bytes_allocated() const override { return total_; }
  int64_t num_allocations() const override { return calls_; }
  std::string backend_name() const override { return "arena"; }

 private:
  uint8_t* TakeFree(size_t size);
  bool AddSegment(size_t least);
  void GiveBack(uint8_t* begin, size_t size);
  bool GrowInPlace(uint8_t* begin, size_t old_size, size_t new_size);
  void Erase(std::map<uint8_t*, size_t>::iterator block);
  void Insert(uint8_t* begin, size_t size);
  void Count(int64_t change, int64_t size);
  void CountFreed(int64_t size) { used_ -= size; }

  arrow::MemoryPool* const small_;
  std::mutex mutex_;
  std::map<uint8_t*, size_t> segments_;  // mapped, by begin; blocks of two of them never join
  std::map<uint8_t*, size_t> free_;      // by begin; two of them never touch
  // The same by size; see BinOf.
  std::array<std::set<uint8_t*>, 64> bins_;
  std::atomic<int64_t> used_ = 0, most_ = 0, total_ = 0, calls_ = 0;
};

}  // namespace timelake

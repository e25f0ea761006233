#pragma once

#include <arrow/memory_pool.h>

namespace timelake {

// The pool that the thread takes its arrays from: Arrow's default one, unless a UsePool says
// otherwise. ParallelColumns and ParallelFor hand it on to their helpers.
arrow::MemoryPool* CurrentPool();

// Sets it for the life of the object.
class UsePool {
 public:
  explicit UsePool(arrow::MemoryPool* pool);
  UsePool(const UsePool&) = delete;
  UsePool& operator=(const UsePool&) = delete;
  ~UsePool();

 private:
  arrow::MemoryPool* before_;
};

// For work that takes much memory once and gives it all back, as merging files does. Arrow's
// default pool is made for what comes again and again: it keeps about twice of what is in use, and
// its fresh memory is cleared in pages of megabytes.
arrow::MemoryPool* PoolForLargeWork();

// Gives back to the system what the allocators keep and nobody uses. Takes milliseconds.
void ReturnUnusedMemory();

}  // namespace timelake

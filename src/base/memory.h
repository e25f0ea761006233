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

// For work that takes much memory in phases and gives it all back, as merging files does: an
// ArenaPool. Arrow's default pool is made for what comes again and again: it keeps about twice of
// what is in use, each thread for itself. Followed by ReturnUnusedMemory.
arrow::MemoryPool* PoolForLargeWork();

// Gives back to the system what the allocators keep and nobody uses. Takes milliseconds.
void ReturnUnusedMemory();

}  // namespace timelake

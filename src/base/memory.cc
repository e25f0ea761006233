#include "base/memory.h"

#include <utility>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/arena_pool.h"

namespace timelake {
namespace {

thread_local arrow::MemoryPool* current = nullptr;

}  // namespace

arrow::MemoryPool* CurrentPool() {
  return current != nullptr ? current : arrow::default_memory_pool();
}

UsePool::UsePool(arrow::MemoryPool* pool) : before_(std::exchange(current, pool)) {}

UsePool::~UsePool() { current = before_; }

arrow::MemoryPool* PoolForLargeWork() {
#ifdef __SANITIZE_ADDRESS__
  return arrow::system_memory_pool();  // the sanitizer knows nothing of the pieces of an arena
#else
  // Never destroyed: results of the work may live as long as the process.
  static ArenaPool* const pool = new ArenaPool();
  return pool;
#endif
}

void ReturnUnusedMemory() {
  arrow::default_memory_pool()->ReleaseUnused();
  if (CurrentPool() != arrow::default_memory_pool()) CurrentPool()->ReleaseUnused();
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace timelake

#include "base/memory.h"

#include <utility>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace timelake {
namespace {

thread_local arrow::MemoryPool* current = nullptr;

}  // namespace

arrow::MemoryPool* CurrentPool() {
  return current != nullptr ? current : arrow::default_memory_pool();
}

UsePool::UsePool(arrow::MemoryPool* pool) : before_(std::exchange(current, pool)) {}

UsePool::~UsePool() { current = before_; }

arrow::MemoryPool* PoolForLargeWork() { return arrow::system_memory_pool(); }

void ReturnUnusedMemory() {
  arrow::default_memory_pool()->ReleaseUnused();
  if (CurrentPool() != arrow::default_memory_pool()) CurrentPool()->ReleaseUnused();
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace timelake

#include "base/arena_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace timelake {
namespace {

constexpr size_t kPage = 4096;
// Fewer bytes are of the small pool.
constexpr int64_t kLeastSize = 2 * kPage;
// Of addresses; memory is only what has been touched. Where there is a limit to addresses, less.
constexpr size_t kSegmentBytes = size_t{1} << 30;
constexpr size_t kLeastSegmentBytes = size_t{64} << 20;
constexpr size_t kHugePage = size_t{2} << 20;

bool IsLarge(int64_t size) { return size >= kLeastSize; }

size_t RoundedUp(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

size_t BlockSize(int64_t size) { return RoundedUp(static_cast<size_t>(size), kPage); }

// Blocks of one bin have sizes of one power of two.
size_t BinOf(size_t size) { return static_cast<size_t>(std::bit_width(size / kPage)); }

arrow::Status TooLarge(int64_t size) {
  return arrow::Status::OutOfMemory("there is no memory for ", size, " bytes more");
}

}  // namespace

ArenaPool::ArenaPool() : small_(arrow::system_memory_pool()) {}

ArenaPool::~ArenaPool() {
  for (const auto& [begin, size] : segments_) ::munmap(begin, size);
}

arrow::Status ArenaPool::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  if (!IsLarge(size) || alignment > static_cast<int64_t>(kPage)) {
    ARROW_RETURN_NOT_OK(small_->Allocate(size, alignment, out));
    Count(size, size);
    return arrow::Status::OK();
  }
  const std::lock_guard lock(mutex_);
  const size_t block = BlockSize(size);
  *out = TakeFree(block);
  if (*out == nullptr && AddSegment(block)) *out = TakeFree(block);
  if (*out == nullptr) return TooLarge(size);
  Count(size, size);
  return arrow::Status::OK();
}

arrow::Status ArenaPool::Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                                    uint8_t** ptr) {
  if (!IsLarge(old_size) && !IsLarge(new_size)) {
    ARROW_RETURN_NOT_OK(small_->Reallocate(old_size, new_size, alignment, ptr));
    Count(new_size - old_size, new_size);
    return arrow::Status::OK();
  }
  if (IsLarge(old_size) && IsLarge(new_size) && alignment <= static_cast<int64_t>(kPage)) {
    const std::lock_guard lock(mutex_);
    if (GrowInPlace(*ptr, BlockSize(old_size), BlockSize(new_size))) {
      Count(new_size - old_size, new_size);
      return arrow::Status::OK();
    }
  }
  uint8_t* moved = nullptr;
  ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
  std::memcpy(moved, *ptr, static_cast<size_t>(std::min(old_size, new_size)));
  Free(*ptr, old_size, alignment);
  *ptr = moved;
  return arrow::Status::OK();
}

void ArenaPool::Free(uint8_t* buffer, int64_t size, int64_t alignment) {
  if (!IsLarge(size) || alignment > static_cast<int64_t>(kPage)) {
    small_->Free(buffer, size, alignment);
    return CountFreed(size);
  }
  const std::lock_guard lock(mutex_);
  GiveBack(buffer, BlockSize(size));
  CountFreed(size);
}

void ArenaPool::ReleaseUnused() {
  const std::lock_guard lock(mutex_);
  for (auto block = free_.begin(); block != free_.end();) {
    const auto [begin, size] = *block;
    const auto segment = segments_.find(begin);
    const auto next = std::next(block);
    if (segment != segments_.end() && segment->second == size) {
      Erase(block);
      segments_.erase(segment);
      ::munmap(begin, size);
    } else {
      ::madvise(begin, size, MADV_DONTNEED);
    }
    block = next;
  }
}

// The lowest free block that fits, or nearly so: what is in use stays together at one end.
uint8_t* ArenaPool::TakeFree(size_t size) {
  constexpr int kMostLooks = 16;
  uint8_t* best = nullptr;
  const size_t own = BinOf(size);
  int looks = 0;
  for (uint8_t* begin : bins_[own]) {
    if (free_.at(begin) >= size) {
      best = begin;
      break;
    }
    if (++looks == kMostLooks) break;
  }
  for (size_t bin = own + 1; bin < bins_.size(); ++bin) {
    if (bins_[bin].empty()) continue;
    uint8_t* const begin = *bins_[bin].begin();
    if (best == nullptr || begin < best) best = begin;
  }
  if (best == nullptr) return nullptr;
  const auto block = free_.find(best);
  const size_t available = block->second;
  Erase(block);
  if (available > size) Insert(best + size, available - size);
  return best;
}

bool ArenaPool::AddSegment(size_t least) {
  size_t size = kSegmentBytes;
  void* mapped = MAP_FAILED;
  for (; mapped == MAP_FAILED && size >= kLeastSegmentBytes; size /= 4) {
    const size_t wanted = RoundedUp(std::max(least, size), kHugePage);
    mapped = ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) continue;
    ::madvise(mapped, wanted, MADV_HUGEPAGE);  // where the system has it; fewer page faults
    segments_.emplace(static_cast<uint8_t*>(mapped), wanted);
    Insert(static_cast<uint8_t*>(mapped), wanted);
  }
  return mapped != MAP_FAILED;
}

void ArenaPool::GiveBack(uint8_t* begin, size_t size) {
  // Neighbours may be of another segment, which is unmapped by itself.
  auto after = free_.lower_bound(begin);
  if (after != free_.begin() && !segments_.contains(begin)) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      begin = before->first;
      size += before->second;
      Erase(before);
    }
  }
  if (after != free_.end() && after->first == begin + size && !segments_.contains(after->first)) {
    size += after->second;
    Erase(after);
  }
  Insert(begin, size);
}

bool ArenaPool::GrowInPlace(uint8_t* begin, size_t old_size, size_t new_size) {
  if (new_size <= old_size) {
    if (new_size < old_size) GiveBack(begin + new_size, old_size - new_size);
    return true;
  }
  const auto after = free_.find(begin + old_size);
  if (after == free_.end() || segments_.contains(after->first)) return false;
  const size_t available = after->second;
  if (old_size + available < new_size) return false;
  Erase(after);
  const size_t left = old_size + available - new_size;
  if (left > 0) Insert(begin + new_size, left);
  return true;
}

void ArenaPool::Erase(std::map<uint8_t*, size_t>::iterator block) {
  bins_[BinOf(block->second)].erase(block->first);
  free_.erase(block);
}

void ArenaPool::Insert(uint8_t* begin, size_t size) {
  free_.emplace(begin, size);
  bins_[BinOf(size)].insert(begin);
}

void ArenaPool::Count(int64_t change, int64_t size) {
  const int64_t used = used_ += change;
  int64_t most = most_;
  while (used > most && !most_.compare_exchange_weak(most, used)) {
  }
  total_ += size;
  ++calls_;
}

}  // namespace timelake

#include "table/turn.h"

#include <algorithm>
#include <atomic>

#include "base/civil_time.h"
#include "store/local_folder.h"

namespace timelake::table {
namespace {

constexpr int64_t kMostUs = 5 * kMicrosPerSecond;
constexpr int64_t kNoMoreUs = kMicrosPerMinute;
constexpr int64_t kFirstPauseUs = 8000;
constexpr int64_t kLastPauseUs = 1000;
constexpr int64_t kHalvedAfterUs = 16000;

std::atomic<int64_t> in_vain_us{kNever};  // when this process last waited to the end

}  // namespace

Turn::Turn() = default;
Turn::~Turn() = default;

bool Turn::Take(const Handle& handle, int64_t most_us, const std::function<bool()>& cancelled) {
  const Env& env = handle.env();
  if (env.store->scheme() != "file" || held()) return false;
  const int64_t vain = in_vain_us.load(std::memory_order_relaxed);
  const bool once = vain != kNever && env.clock->BootMicros() - vain < kNoMoreUs;
  const int64_t limit = once ? 0 : std::min(most_us, kMostUs);
  bool waited = false, stopped = false;
  lock_ = std::make_unique<store::FolderLock>(
      handle.folder(), limit, [&](int64_t waited_us) -> int64_t {
        waited = limit > 0;
        stopped = cancelled && cancelled();
        if (stopped) return store::FolderLock::kGiveUp;
        return std::max(kLastPauseUs,
                        kFirstPauseUs * kHalvedAfterUs / (kHalvedAfterUs + waited_us));
      });
  if (!held()) {
    lock_ = nullptr;
    if (waited && !stopped && limit == kMostUs) in_vain_us = env.clock->BootMicros();
  }
  return waited;
}

void Turn::Leave() { lock_ = nullptr; }

bool Turn::held() const { return lock_ != nullptr && lock_->held(); }

}  // namespace timelake::table

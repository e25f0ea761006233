#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/civil_time.h"
#include "base/clock.h"
#include "base/error.h"

namespace timelake::store {

// Credentials that are found when they are first asked for, and found again some minutes before
// they expire. `T` has `expires_us` (0: never). Thread-safe.
template <typename T>
class Renewing {
 public:
  using Find = std::function<Result<T>()>;
  Renewing(Find find, std::shared_ptr<Clock> clock)
      : find_(std::move(find)), clock_(std::move(clock)) {}

  Result<T> Get() {
    const std::lock_guard lock(mutex_);
    const int64_t now = clock_->NowMicros();
    const int64_t expires = value_ ? value_->expires_us : 0;
    if (value_ && (expires == 0 || now < expires - kBefore)) return *value_;
    auto fresh = find_();
    if (fresh.ok()) {
      value_ = *std::move(fresh);
    } else if (!value_ || now >= expires) {
      return fresh.status();
    }
    return *value_;
  }

  // Finds them again, unless another thread has since `used` was given out.
  template <typename Same>
  std::optional<T> Again(const Same& used) {
    const std::lock_guard lock(mutex_);
    if (!value_ || used(*value_)) {
      auto fresh = find_();
      if (!fresh.ok()) return std::nullopt;
      value_ = *std::move(fresh);
    }
    return value_;
  }

  std::optional<T> Known() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  static constexpr int64_t kBefore = 5 * kMicrosPerMinute;

  const Find find_;
  const std::shared_ptr<Clock> clock_;
  mutable std::mutex mutex_;
  std::optional<T> value_;
};

}  // namespace timelake::store

#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "sim/scheduler.h"

namespace timelake::sim {

// The most that one of a run's wall clocks is wrong.
inline constexpr int64_t kMaxWallOffsetUs = int64_t{600} * 1'000'000;
inline constexpr int64_t kEpochUs = 1'770'000'000'000'000;  // the wall clock when a run begins

// One process's view of the time that the scheduler keeps: the wall clock may be wrong and be set
// anew, the boot clock starts anywhere.
class SimClock : public Clock {
 public:
  // A wait between two attempts has no meaning in the protocol; it is shortened by `haste`, so that
  // waits and the ages that matter are of one order of magnitude as between machines.
  explicit SimClock(Scheduler* scheduler, int64_t boot_offset_us = 0, int64_t haste = 1)
      : scheduler_(scheduler), boot_offset_us_(boot_offset_us), haste_(haste) {}

  void set_wall_offset_us(int64_t us) { wall_offset_us_ = us; }

  int64_t NowMicros() override { return kEpochUs + scheduler_->now_us() + wall_offset_us_; }
  int64_t BootMicros() override { return scheduler_->now_us() + boot_offset_us_; }
  void SleepMicros(int64_t us) override {
    longest_sleep_us_ = std::max(longest_sleep_us_, us);
    scheduler_->Sleep(us / haste_);
  }
  int64_t longest_sleep_us() const { return longest_sleep_us_; }  // as asked for

 private:
  Scheduler* const scheduler_;
  const int64_t boot_offset_us_;
  const int64_t haste_;
  int64_t wall_offset_us_ = 0;
  int64_t longest_sleep_us_ = 0;
};

}  // namespace timelake::sim

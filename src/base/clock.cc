#include "base/clock.h"

#include <ctime>

namespace timelake {
namespace {

int64_t Read(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return int64_t{ts.tv_sec} * 1'000'000 + ts.tv_nsec / 1000;
}

class MachineClock : public Clock {
 public:
  int64_t NowMicros() override { return Read(CLOCK_REALTIME); }
#ifdef CLOCK_BOOTTIME
  int64_t BootMicros() override { return Read(CLOCK_BOOTTIME); }
#else
  int64_t BootMicros() override { return Read(CLOCK_MONOTONIC); }
#endif
  void SleepMicros(int64_t micros) override {
    if (micros <= 0) return;
    timespec ts{};
    ts.tv_sec = micros / 1'000'000;
    ts.tv_nsec = micros % 1'000'000 * 1000;
    while (nanosleep(&ts, &ts) != 0) {
    }
  }
};

}  // namespace

std::shared_ptr<Clock> SystemClock() {
  static const auto clock = std::make_shared<MachineClock>();
  return clock;
}

}  // namespace timelake

#pragma once

#include <cstdint>
#include <memory>

namespace timelake {

// Where time comes from; injected so that the simulation can own it. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Wall clock, microseconds UTC since 1970. May jump in either direction.
  virtual int64_t NowMicros() = 0;

  // Microseconds since an arbitrary start; never goes back and counts the time a machine is
  // suspended (CLOCK_BOOTTIME). The commit protocol dates its proofs with it.
  virtual int64_t BootMicros() = 0;

  virtual void SleepMicros(int64_t micros) = 0;
};

// The machine's clocks.
std::shared_ptr<Clock> SystemClock();

}  // namespace timelake

#pragma once

#include <cstdint>
#include <memory>

namespace timelake {

// Where randomness comes from; injected so that a simulation replays exactly. Thread-safe.
class Random {
 public:
  virtual ~Random() = default;

  virtual uint64_t Next64() = 0;

  // Uniform in [0, bound); 0 when bound is 0.
  uint64_t Below(uint64_t bound) { return bound == 0 ? 0 : Next64() % bound; }
};

// Seeded from the operating system; also right after fork, because it reads the kernel each time.
std::shared_ptr<Random> SystemRandom();

// Deterministic sequence (SplitMix64), for tests and the simulation.
std::shared_ptr<Random> SeededRandom(uint64_t seed);

}  // namespace timelake

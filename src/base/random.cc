#include "base/random.h"

#include <sys/random.h>

#include <atomic>
#include <random>

namespace timelake {
namespace {

class KernelRandom : public Random {
 public:
  uint64_t Next64() override {
    uint64_t value = 0;
    if (getrandom(&value, sizeof value, 0) == static_cast<ssize_t>(sizeof value)) return value;
    std::random_device device;  // kernels without getrandom
    return (uint64_t{device()} << 32) | device();
  }
};

class SplitMix : public Random {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t Next64() override {
    uint64_t z = state_.fetch_add(0x9e3779b97f4a7c15ULL) + 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

 private:
  std::atomic<uint64_t> state_;
};

}  // namespace

std::shared_ptr<Random> SystemRandom() {
  static const auto random = std::make_shared<KernelRandom>();
  return random;
}

std::shared_ptr<Random> SeededRandom(uint64_t seed) { return std::make_shared<SplitMix>(seed); }

}  // namespace timelake

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace timelake::write {

// Numbers the distinct values of a column chunk in the order of their first use: its dictionary.
// Values are told apart by their bits, so that -0.0 and the kinds of NaN are kept. `Bits` is
// uint32_t or uint64_t.
template <typename Bits>
class ValueNumbers {
 public:
  uint32_t NumberOf(Bits value) {
    const size_t mask = slots_.size() - 1;
    size_t i = SlotOf(value);
    for (; slots_[i] != kFree; i = (i + 1) & mask) {
      if (values_[slots_[i]] == value) return slots_[i];
    }
    const auto number = static_cast<uint32_t>(values_.size());
    slots_[i] = number;
    values_.push_back(value);
    if (2 * values_.size() > slots_.size()) Grow();
    return number;
  }

  const std::vector<Bits>& values() const { return values_; }

  // Forgets the values from `count` on, and that any can be found: none may be numbered after that.
  void Close(size_t count) {
    values_.resize(count);
    slots_ = {};
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;

  // Doubles of whole numbers differ in their highest bits only, counters in their lowest.
  size_t SlotOf(Bits value) const {
    uint64_t hash = static_cast<uint64_t>(value) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 32) * 0xC2B2AE3D27D4EB4Fu;
    return static_cast<size_t>(hash >> 32) & (slots_.size() - 1);
  }

  void Grow() {
    slots_.assign(4 * slots_.size(), kFree);
    const size_t mask = slots_.size() - 1;
    for (size_t number = 0; number < values_.size(); ++number) {
      size_t i = SlotOf(values_[number]);
      while (slots_[i] != kFree) i = (i + 1) & mask;
      slots_[i] = static_cast<uint32_t>(number);
    }
  }

  std::vector<uint32_t> slots_ = std::vector<uint32_t>(512, kFree);
  std::vector<Bits> values_;
};

}  // namespace timelake::write

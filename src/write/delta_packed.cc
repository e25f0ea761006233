#include "write/delta_packed.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <type_traits>

#include "write/bit_packing.h"

namespace timelake::write {
namespace {

constexpr size_t kBlock = 128;
constexpr size_t kMiniBlocks = 4;
constexpr size_t kMiniBlock = kBlock / kMiniBlocks;

// One block of differences. A last miniblock that is not full is filled up with the least
// difference, which is stored as zero; the widths of empty ones are zero.
template <typename T>
void AppendBlock(const std::array<T, kBlock>& deltas, size_t count, PageBytes* out) {
  using Bits = std::make_unsigned_t<T>;
  const T least = *std::min_element(deltas.begin(), deltas.begin() + count);
  out->AppendZigZag(least);
  std::array<Bits, kBlock> offsets{};
  for (size_t i = 0; i < count; ++i) {
    offsets[i] = static_cast<Bits>(static_cast<Bits>(deltas[i]) - static_cast<Bits>(least));
  }
  std::array<uint8_t, kMiniBlocks> widths{};
  for (size_t mini = 0; mini < kMiniBlocks; ++mini) {
    Bits all = 0;
    for (size_t i = 0; i < kMiniBlock; ++i) all |= offsets[mini * kMiniBlock + i];
    widths[mini] = static_cast<uint8_t>(std::bit_width(all));
  }
  out->Append(widths.data(), widths.size());
  for (size_t mini = 0; mini < kMiniBlocks; ++mini) {
    AppendPacked(offsets.data() + mini * kMiniBlock, kMiniBlock, widths[mini], out);
  }
}

template <typename T>
void Append(const T* values, size_t count, PageBytes* out) {
  using Bits = std::make_unsigned_t<T>;
  out->AppendVarint(kBlock);
  out->AppendVarint(kMiniBlocks);
  out->AppendVarint(count);
  out->AppendZigZag(count == 0 ? T{0} : values[0]);
  std::array<T, kBlock> deltas;
  for (size_t first = 1; first < count; first += kBlock) {
    const size_t in_block = std::min(kBlock, count - first);
    for (size_t i = 0; i < in_block; ++i) {
      deltas[i] = static_cast<T>(static_cast<Bits>(static_cast<Bits>(values[first + i]) -
                                                   static_cast<Bits>(values[first + i - 1])));
    }
    AppendBlock(deltas, in_block, out);
  }
}

}  // namespace

void AppendDeltaPacked(const int32_t* values, size_t count, PageBytes* out) {
  Append(values, count, out);
}

void AppendDeltaPacked(const int64_t* values, size_t count, PageBytes* out) {
  Append(values, count, out);
}

}  // namespace timelake::write

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "write/page_bytes.h"

namespace timelake::write {

// Swaps the bytes of eight words as those of a matrix: rows become columns.
inline void TransposeBytes(uint64_t (&words)[8]) {
  constexpr uint64_t kMasks[] = {0x00000000FFFFFFFF, 0x0000FFFF0000FFFF, 0x00FF00FF00FF00FF};
  for (int stage = 0, apart = 4; stage < 3; ++stage, apart /= 2) {
    for (int i = 0; i < 8; ++i) {
      if ((i & apart) != 0) continue;
      uint64_t& a = words[i];
      uint64_t& b = words[i + apart];
      const uint64_t swapped = (a >> (8 * apart) ^ b) & kMasks[stage];
      b ^= swapped;
      a ^= swapped << (8 * apart);
    }
  }
}

// BYTE_STREAM_SPLIT (Parquet Encodings.md) of values of 4 or 8 bytes: the first bytes of all
// values, then the second ones, and so on.
template <size_t kBytes>
void AppendSplit(const void* values, size_t count, PageBytes* out) {
  uint8_t* to = out->Reserve(count * kBytes);
  const auto* from = static_cast<const uint8_t*>(values);
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t words[8] = {};
    for (size_t j = 0; j < 8; ++j) std::memcpy(&words[j], from + (i + j) * kBytes, kBytes);
    TransposeBytes(words);
    for (size_t byte = 0; byte < kBytes; ++byte) {
      std::memcpy(to + byte * count + i, &words[byte], sizeof(uint64_t));
    }
  }
  for (; i < count; ++i) {
    for (size_t byte = 0; byte < kBytes; ++byte) to[byte * count + i] = from[i * kBytes + byte];
  }
  out->Advance(count * kBytes);
}

}  // namespace timelake::write

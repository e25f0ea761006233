#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "write/page_bytes.h"

namespace timelake::write {

// Appends values of `width` bits (0 .. 64, none larger), the lowest bit first, the last byte filled
// up with zeros (Parquet Encodings.md, "RLE / bit-packing hybrid").
template <typename T>
void AppendPacked(const T* values, size_t count, int width, PageBytes* out) {
  if (width == 0) return;
  const size_t bytes = (count * static_cast<size_t>(width) + 7) / 8;
  uint8_t* at = out->Reserve(bytes + sizeof(uint64_t));
  if (width == 8) {
    for (size_t i = 0; i < count; ++i) at[i] = static_cast<uint8_t>(values[i]);
    out->Advance(bytes);
    return;
  }
  uint64_t word = 0;
  int filled = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<uint64_t>(values[i]);
    word |= value << filled;
    filled += width;
    if (filled < 64) continue;
    std::memcpy(at, &word, sizeof(word));
    at += sizeof(word);
    filled -= 64;
    // The bits of the value that found no room.
    word = filled == 0 ? 0 : value >> (width - filled);
  }
  std::memcpy(at, &word, sizeof(word));
  out->Advance(bytes);
}

}  // namespace timelake::write

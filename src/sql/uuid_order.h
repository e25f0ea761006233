#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include <duckdb/common/hugeint.hpp>

// DuckDB holds a UUID as a 128-bit integer with its top bit flipped, so that signed order is the
// order of the text; Iceberg and Arrow hold 16 bytes, most significant first.

namespace timelake::sql {

namespace internal {
constexpr uint64_t kTopBit = uint64_t{1} << 63;

inline uint64_t BigEndian(uint64_t word) {
  return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
}
}  // namespace internal

inline duckdb::hugeint_t UuidFromBytes(const void* bytes) {
  uint64_t words[2];
  std::memcpy(words, bytes, sizeof(words));
  duckdb::hugeint_t result;
  result.upper = static_cast<int64_t>(internal::BigEndian(words[0]) ^ internal::kTopBit);
  result.lower = internal::BigEndian(words[1]);
  return result;
}

inline void UuidToBytes(const duckdb::hugeint_t& value, char* bytes) {
  const uint64_t words[2] = {
      internal::BigEndian(static_cast<uint64_t>(value.upper) ^ internal::kTopBit),
      internal::BigEndian(value.lower)};
  std::memcpy(bytes, words, sizeof(words));
}

}  // namespace timelake::sql

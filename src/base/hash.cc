#include "base/hash.h"

#include <bit>

#include "base/decimal_bytes.h"

namespace timelake {
namespace {

// Little-endian number of up to four bytes, whatever the machine's byte order.
uint32_t LoadLittle(std::string_view bytes) {
  uint32_t number = 0;
  for (size_t i = bytes.size(); i > 0; --i) {
    number = number << 8 | static_cast<uint8_t>(bytes[i - 1]);
  }
  return number;
}

uint32_t Scramble(uint32_t block) { return std::rotl(block * 0xCC9E2D51u, 15) * 0x1B873593u; }

}  // namespace

int32_t HashBytes(std::string_view bytes) {
  uint32_t hash = 0;
  size_t position = 0;
  for (; position + 4 <= bytes.size(); position += 4) {
    hash ^= Scramble(LoadLittle(bytes.substr(position, 4)));
    hash = std::rotl(hash, 13) * 5 + 0xE6546B64u;
  }
  hash ^= Scramble(LoadLittle(bytes.substr(position)));  // the tail; nothing to add if empty
  hash ^= static_cast<uint32_t>(bytes.size());
  hash = (hash ^ hash >> 16) * 0x85EBCA6Bu;
  hash = (hash ^ hash >> 13) * 0xC2B2AE35u;
  return static_cast<int32_t>(hash ^ hash >> 16);
}

int32_t HashLong(int64_t value) {
  char bytes[8];
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
  return HashBytes({bytes, sizeof(bytes)});
}

int32_t HashDecimal(const arrow::Decimal128& unscaled) {
  return HashBytes(DecimalToBytes(unscaled));
}

int32_t HashUuid(const Uuid& uuid) {
  return HashBytes({reinterpret_cast<const char*>(uuid.bytes.data()), uuid.bytes.size()});
}

}  // namespace timelake

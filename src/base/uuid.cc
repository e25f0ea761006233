#include "base/uuid.h"

#include <algorithm>

#include "base/random.h"
#include "base/text.h"

namespace timelake {
namespace {

// Writes version and the RFC's variant over their six bits.
Uuid MakeUuid(uint64_t high, uint64_t low, uint64_t version) {
  high = (high & ~uint64_t{0xF000}) | version << 12;
  low = (low & (~uint64_t{0} >> 2)) | uint64_t{1} << 63;
  Uuid uuid;
  for (size_t i = 0; i < 8; ++i) {
    uuid.bytes[i] = static_cast<uint8_t>(high >> (56 - 8 * i));
    uuid.bytes[8 + i] = static_cast<uint8_t>(low >> (56 - 8 * i));
  }
  return uuid;
}

bool HasDashAt(size_t position) {
  return position == 8 || position == 13 || position == 18 || position == 23;
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Uuid NewUuidV4(Random& random) {
  const uint64_t high = random.Next64();
  const uint64_t low = random.Next64();
  return MakeUuid(high, low, 4);
}

Uuid NewUuidV7(int64_t unix_millis, Random& random) {
  const uint64_t millis = static_cast<uint64_t>(std::max<int64_t>(unix_millis, 0));
  const uint64_t high = millis << 16 | (random.Next64() >> 48);
  const uint64_t low = random.Next64();
  return MakeUuid(high, low, 7);
}

std::string FormatUuid(const Uuid& uuid) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (uint8_t byte : uuid.bytes) {
    if (HasDashAt(text.size())) text += '-';
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

Result<Uuid> ParseUuid(std::string_view text) {
  Uuid uuid;
  size_t digits = 0;
  bool valid = text.size() == 36;
  for (size_t i = 0; valid && i < text.size(); ++i) {
    if (HasDashAt(i)) {
      valid = text[i] == '-';
      continue;
    }
    const int value = HexValue(text[i]);
    valid = value >= 0;
    uint8_t& byte = uuid.bytes[digits++ / 2];
    byte = static_cast<uint8_t>(byte << 4 | (value & 15));
  }
  if (!valid) return InvalidArgument("{} is not a UUID", Quote(text));
  return uuid;
}

int64_t NewSnapshotId(Random& random) {
  const int64_t id = static_cast<int64_t>(random.Next64() >> 1);
  return id == 0 ? 1 : id;
}

}  // namespace timelake

#include "base/decimal_bytes.h"

#include <array>

namespace timelake {
namespace {

constexpr size_t kMaxBytes = 16;

std::array<char, kMaxBytes> BigEndian(const arrow::Decimal128& unscaled) {
  const uint64_t high = static_cast<uint64_t>(unscaled.high_bits());
  const uint64_t low = unscaled.low_bits();
  std::array<char, kMaxBytes> bytes;
  for (size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>(high >> (56 - 8 * i));
    bytes[8 + i] = static_cast<char>(low >> (56 - 8 * i));
  }
  return bytes;
}

}  // namespace

std::string DecimalToBytes(const arrow::Decimal128& unscaled) {
  const std::array<char, kMaxBytes> bytes = BigEndian(unscaled);
  const char sign = unscaled.high_bits() < 0 ? '\xFF' : '\0';
  // A leading sign byte may go while the next one shows the same sign.
  size_t start = 0;
  while (start + 1 < kMaxBytes && bytes[start] == sign && ((bytes[start + 1] ^ sign) & 0x80) == 0) {
    ++start;
  }
  return std::string(bytes.begin() + start, bytes.end());
}

Result<arrow::Decimal128> DecimalFromBytes(std::string_view bytes) {
  if (bytes.empty() || bytes.size() > kMaxBytes) {
    return Corrupt("decimal of {} bytes, expected 1 to {}", bytes.size(), kMaxBytes);
  }
  uint64_t high = (bytes[0] & 0x80) != 0 ? ~uint64_t{0} : 0;
  uint64_t low = high;
  for (char byte : bytes) {
    high = high << 8 | low >> 56;
    low = low << 8 | static_cast<uint8_t>(byte);
  }
  return arrow::Decimal128(static_cast<int64_t>(high), low);
}

Result<std::string> DecimalToFixedBytes(const arrow::Decimal128& unscaled, int length) {
  if (length < 1 || length > static_cast<int>(kMaxBytes)) {
    return InvalidArgument("decimal length is {} bytes, accepted is 1 to {}", length, kMaxBytes);
  }
  std::string bytes = DecimalToBytes(unscaled);
  const size_t wanted = static_cast<size_t>(length);
  if (bytes.size() > wanted) {
    return InvalidArgument("decimal with unscaled value {} does not fit in {} bytes",
                           unscaled.ToIntegerString(), length);
  }
  bytes.insert(0, wanted - bytes.size(), unscaled.high_bits() < 0 ? '\xFF' : '\0');
  return bytes;
}

Result<int> MinBytesForPrecision(int precision) {
  if (precision < 1 || precision > arrow::Decimal128::kMaxPrecision) {
    return InvalidArgument("decimal precision is {}, accepted is 1 to {}", precision,
                           arrow::Decimal128::kMaxPrecision);
  }
  // Positive and negative ranges are both decided by 10^precision - 1 (10^38 - 1 fits in 127 bits).
  const arrow::Decimal128 largest(arrow::Decimal128::GetMaxValue(precision));
  return static_cast<int>(DecimalToBytes(largest).size());
}

}  // namespace timelake

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <arrow/util/decimal.h>

#include "base/error.h"

// Unscaled decimals as big-endian two's complement, as Iceberg's single values and Parquet's byte
// arrays hold them. (Parquet statistics of INT32/INT64 decimals are little-endian: not these.)

namespace timelake {

// Shortest form, 1 to 16 bytes: Iceberg bounds and hash input (spec, Appendix D and B). 0 is "00".
std::string DecimalToBytes(const arrow::Decimal128& unscaled);

// Any form of 1 to 16 bytes, shortest or not. Corrupt if empty or longer.
Result<arrow::Decimal128> DecimalFromBytes(std::string_view bytes);

// Sign-extended to `length` bytes, 1 to 16: Parquet FIXED_LEN_BYTE_ARRAY. InvalidArgument if the
// value needs more.
Result<std::string> DecimalToFixedBytes(const arrow::Decimal128& unscaled, int length);

// Fewest bytes that hold every unscaled value of `precision` digits (Iceberg spec, Appendix A: 1..2
// digits take 1, 9 take 4, 18 take 8, 38 take 16). InvalidArgument if not in 1..38.
Result<int> MinBytesForPrecision(int precision);

}  // namespace timelake

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <arrow/util/decimal.h>

#include "base/error.h"
#include "iceberg/schema.h"

namespace timelake::iceberg {

// One value of a primitive type; monostate is null. Held as: boolean bool; int, date int32; long,
// time (us), timestamp, timestamptz (us) int64; float; double; decimal Decimal128 (unscaled);
// string, fixed, binary and uuid (16 bytes, big-endian) as std::string.
using Value = std::variant<std::monostate, bool, int32_t, int64_t, float, double, arrow::Decimal128,
                           std::string>;

inline bool IsNull(const Value& value) { return value.index() == 0; }

// Order of two values of one type, as bounds and pruning need it: null first; NaN above everything;
// -0.0 below 0.0; strings, binary, fixed and uuid by unsigned bytes. int and long, float and double
// compare with each other (promotion).
int Compare(const Value& a, const Value& b);

// Binary single-value serialisation (specification, Appendix D). Int 4 bytes and long 8 bytes
// little-endian, decimal shortest big-endian two's complement, uuid 16 bytes big-endian, string
// UTF-8.
Result<std::string> ToBytes(const Type& type, const Value& value);
// Also reads what an older schema wrote: 4 bytes for a long, 4 for a double. kCorrupt otherwise.
Result<Value> FromBytes(const Type& type, std::string_view bytes);

// For people and error messages: "2026-01-03T00:00:00Z", "12.34", "'text'", hex for bytes.
std::string ToText(const Type& type, const Value& value);

}  // namespace timelake::iceberg

#pragma once

#include <cstdint>
#include <string_view>

#include <arrow/util/decimal.h>

#include "base/uuid.h"

// Hashes of the Iceberg bucket transform: Murmur3, x86 32-bit variant, seed 0 (spec, Appendix B).
// They decide which partition a row is in and must never change.

namespace timelake {

// binary, fixed
int32_t HashBytes(std::string_view bytes);

// long; date (days), time, timestamp and timestamptz (microseconds). Eight bytes, little-endian.
int32_t HashLong(int64_t value);

// int hashes as long, so that a promoted column keeps its buckets.
inline int32_t HashInt(int32_t value) { return HashLong(value); }

// The shortest big-endian bytes of the unscaled value; the scale does not count.
int32_t HashDecimal(const arrow::Decimal128& unscaled);

// UTF-8 bytes
inline int32_t HashString(std::string_view text) { return HashBytes(text); }

int32_t HashUuid(const Uuid& uuid);

// Bucket of a hash, 0..count-1. `count` > 0.
inline int32_t BucketOf(int32_t hash, int32_t count) { return (hash & 0x7FFFFFFF) % count; }

}  // namespace timelake

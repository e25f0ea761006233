#pragma once

#include <cstddef>
#include <cstdint>

#include "write/page_bytes.h"

namespace timelake::write {

// DELTA_BINARY_PACKED (Parquet Encodings.md), blocks of 128 values in four miniblocks. Differences
// wrap around as the numbers themselves do: 32 bits for int32_t, 64 for int64_t.
void AppendDeltaPacked(const int32_t* values, size_t count, PageBytes* out);
void AppendDeltaPacked(const int64_t* values, size_t count, PageBytes* out);

}  // namespace timelake::write

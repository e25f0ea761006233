#pragma once

#include <cstddef>
#include <cstdint>

#include "write/page_bytes.h"

namespace timelake::write {

// RLE / bit-packing hybrid (Parquet Encodings.md): dictionary indices and levels. A run of equal
// values may begin anywhere and be of any length; only packed values come by eights. `width` is 0
// .. 32 bits, no value is larger.
void AppendHybrid(const uint32_t* values, size_t count, int width, PageBytes* out);

// Definition levels of a page of a flat column, with their length before them (data page v1).
// `levels` (0: null, 1: a value) is null where all rows have a value.
void AppendLevels(const uint32_t* levels, size_t count, PageBytes* out);

// Indices of a page into a dictionary: their bit width in a byte, and the hybrid. `most` is the
// largest index.
void AppendIndices(const uint32_t* indices, size_t count, uint32_t most, PageBytes* out);

// The same in whole bytes, most of them packed: codecs find more in those than in bits.
void AppendWideIndices(const uint32_t* indices, size_t count, uint32_t most, PageBytes* out);

}  // namespace timelake::write

#pragma once

#include <cstdint>

#include <arrow/array/data.h>

namespace timelake::write {

// What the values of an array take in memory: of a part of larger buffers that part, of a
// dictionary all of it. As Arrow's ReferencedBufferSize, which tells buffers apart by a set, and so
// takes as long as reading a small file does.
int64_t BytesOf(const arrow::ArrayData& data);

}  // namespace timelake::write

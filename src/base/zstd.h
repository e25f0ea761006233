#pragma once

#include <cstdint>

#include "base/error.h"

namespace timelake {

// Frames of Zstandard (RFC 8878). Each thread keeps its context from call to call: what a context
// takes to be made and given back, and the pages that the system clears for it, cost more than the
// compression of a small page.

// What `size` bytes may take when compressed, at most.
int64_t ZstdMostBytes(int64_t size);

// `level`: 1 to 22. Bytes written to `out`, which has room for ZstdMostBytes.
Result<int64_t> ZstdCompress(const void* bytes, int64_t size, int level, void* out, int64_t room);

}  // namespace timelake

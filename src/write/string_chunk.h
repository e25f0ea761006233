#pragma once

#include <memory>

#include "write/column_chunk.h"

namespace timelake::write {

// A chunk of strings that come as dictionary(int32, utf8), all with the same dictionary. From the
// first page on that has a value beyond `dictionary-page-bytes`, pages are PLAIN.
std::unique_ptr<ColumnChunk> MakeStringChunk(const ChunkPlace& place);

}  // namespace timelake::write

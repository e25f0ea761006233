#pragma once

#include <memory>

#include "write/column_chunk.h"
#include "write/kept_group.h"

namespace timelake::write {

// The pages of a column of a kept row group, which go into another file as they are; only where
// they lie is told anew. Takes no rows. `group` outlives it.
std::unique_ptr<ColumnChunk> MakeKeptChunk(const ChunkPlace& place, const KeptGroup& group);

}  // namespace timelake::write

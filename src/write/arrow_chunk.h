#pragma once

#include <memory>

#include "write/column_chunk.h"

namespace timelake::write {

// A chunk of any flat type, through Arrow's column writer. Its pages are cut where those of other
// chunks are, or earlier where they get large.
Result<std::unique_ptr<ColumnChunk>> MakeArrowChunk(
    const ChunkPlace& place, const std::shared_ptr<arrow::io::OutputStream>& sink);

}  // namespace timelake::write

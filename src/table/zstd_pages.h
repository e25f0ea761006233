#pragma once

#include <memory>

#include <parquet/column_reader.h>

namespace timelake::table {

// Pages that `raw` hands out as they lie in the file (opened as if they were not compressed) are
// decompressed, with a context and a buffer that each thread keeps from chunk to chunk: Arrow's own
// reader makes a context for every page, which may take longer than the page. May throw, and as
// with Arrow's a page holds until the next one is asked for.
std::unique_ptr<parquet::PageReader> DecompressZstd(std::unique_ptr<parquet::PageReader> raw);

}  // namespace timelake::table

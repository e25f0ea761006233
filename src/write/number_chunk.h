#pragma once

#include <memory>

#include <arrow/type.h>

#include "write/column_chunk.h"

namespace timelake::write {

// A chunk of int32, int64, dates, times, timestamps, float or double; null for other types. A
// dictionary that outgrows `dictionary-page-bytes` ends with the page before, and later pages are
// encoded without it: floats split by bytes, integers as deltas.
std::unique_ptr<ColumnChunk> MakeNumberChunk(const ChunkPlace& place, const arrow::DataType& type);

}  // namespace timelake::write

#include "write/column_chunk.h"

#include "write/arrow_chunk.h"
#include "write/number_chunk.h"
#include "write/string_chunk.h"

namespace timelake::write {

Result<std::unique_ptr<ColumnChunk>> MakeColumnChunk(
    const ChunkPlace& place, const std::shared_ptr<arrow::DataType>& type,
    const std::shared_ptr<arrow::io::OutputStream>& sink) {
  if (type->id() == arrow::Type::DICTIONARY) return MakeStringChunk(place);
  if (auto numbers = MakeNumberChunk(place, *type)) return numbers;
  return MakeArrowChunk(place, sink);
}

}  // namespace timelake::write

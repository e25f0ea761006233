#pragma once

#include <cstdint>
#include <memory>

#include <arrow/array.h>
#include <arrow/io/interfaces.h>

#include "base/error.h"
#include "write/encoding.h"
#include "write/metrics.h"

namespace parquet {
class BloomFilter;
class ColumnChunkMetaDataBuilder;
class ColumnDescriptor;
class ColumnIndexBuilder;
class ColumnProperties;
class OffsetIndexBuilder;
class WriterProperties;
}  // namespace parquet

namespace timelake::write {

// What a column chunk is part of. All of it outlives the chunk.
struct ChunkPlace {
  const parquet::ColumnDescriptor* descriptor = nullptr;
  const parquet::WriterProperties* properties = nullptr;
  const parquet::ColumnProperties* own = nullptr;  // the column's among them
  ColumnPlan plan;
  int row_group = 0;
  int column = 0;
  bool ordered_by = false;  // rows are sorted by the column
  parquet::ColumnChunkMetaDataBuilder* metadata = nullptr;
  parquet::ColumnIndexBuilder* column_index = nullptr;  // null where there are no statistics
  parquet::OffsetIndexBuilder* offset_index = nullptr;
  parquet::BloomFilter* bloom_filter = nullptr;  // null: the column has none
};

// One column of one row group of a flat schema. Pages are encoded and compressed as their rows
// come and wait in memory. Chunks of a row group are independent of each other until WriteTo.
class ColumnChunk {
 public:
  virtual ~ColumnChunk() = default;

  // Rows that follow, as SchemaOf says.
  virtual Status Append(const arrow::Array& rows) = 0;
  // No more rows come.
  virtual Status Finish() = 0;
  // Whether Facts says all of the rows, which need not be looked at for their metrics then.
  virtual bool knows_facts() const { return false; }
  // Once it is finished.
  virtual LeafFacts Facts() const { return {}; }
  // Writes dictionary and pages, and tells metadata and indexes. Returns the bytes before
  // compression, with the pages' headers.
  virtual Result<int64_t> WriteTo(const std::shared_ptr<arrow::io::OutputStream>& sink) = 0;
};

// The kind of chunk that suits type and plan: numbers, dates and times; strings that come as
// dictionaries; all else through Arrow's column writer.
Result<std::unique_ptr<ColumnChunk>> MakeColumnChunk(
    const ChunkPlace& place, const std::shared_ptr<arrow::DataType>& type,
    const std::shared_ptr<arrow::io::OutputStream>& sink);

}  // namespace timelake::write

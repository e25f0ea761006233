#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/compression.h>
#include <parquet/size_statistics.h>
#include <parquet/statistics.h>
#include <parquet/types.h>

#include "base/error.h"
#include "write/column_chunk.h"
#include "write/page_bytes.h"

namespace timelake::write {

// What is known of a page but for its bytes.
struct PageFacts {
  int64_t rows = 0;
  int64_t nulls = 0;
  parquet::Encoding::type encoding = parquet::Encoding::PLAIN;
  parquet::EncodedStatistics bounds = {};  // min and max, if the page has any
  int64_t string_bytes = 0;                // of strings: their bytes, without lengths
};

// Compressed pages of a column chunk of our own encoding, in memory.
class ChunkPages {
 public:
  explicit ChunkPages(const ChunkPlace& place);

  // Data page v1: levels and values.
  Status Add(const PageBytes& page, PageFacts facts);

  int64_t rows() const { return rows_; }
  int64_t nulls() const { return nulls_; }
  // Whether the codec gives frequent bytes fewer bits.
  bool entropy_coded() const;
  // What a page of these bytes would take.
  Result<int64_t> CompressedSize(const PageBytes& page);

  // `dictionary`: values as PLAIN; null if no page refers to one. `bounds`: of the chunk.
  Result<int64_t> WriteTo(const std::shared_ptr<arrow::io::OutputStream>& sink,
                          const PageBytes* dictionary, size_t dictionary_count,
                          parquet::EncodedStatistics bounds);

 private:
  // Into `scratch_`, unless it is not compressed at all.
  Result<const PageBytes*> Compress(const PageBytes& page);
  Status Keep(const PageBytes& compressed);
  Status TooLarge() const;
  parquet::EncodedStatistics Complete(parquet::EncodedStatistics bounds, int64_t nulls,
                                      int64_t rows) const;
  parquet::SizeStatistics SizesOf(const PageFacts& facts) const;

  ChunkPlace place_;
  std::unique_ptr<parquet::SizeStatistics> unencoded_;  // as the column has them, without counts
  bool statistics_;
  size_t most_statistics_;  // bytes of a bound
  arrow::Compression::type compression_;
  int level_;
  std::unique_ptr<arrow::util::Codec> codec_;  // of another kind than zstd, once it is needed
  PageBytes scratch_, header_;
  std::vector<std::shared_ptr<arrow::Buffer>> pages_;     // headers included
  std::map<parquet::Encoding::type, int32_t> encodings_;  // of how many data pages
  int64_t compressed_bytes_ = 0;                          // of data pages, headers included
  int64_t bytes_ = 0;                                     // before compression
  int64_t rows_ = 0;
  int64_t nulls_ = 0;
  int64_t string_bytes_ = 0;
};

}  // namespace timelake::write

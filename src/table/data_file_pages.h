#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/io/interfaces.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include "base/error.h"
#include "table/page_index.h"
#include "table/row_ranges.h"

// How some pages of a column chunk become a stream of pages for Parquet's readers. Like those, what
// is here may throw.

namespace timelake::table {

// Of every file we read: checksums are verified where the writer stored them.
parquet::ReaderProperties FileProperties();

// Where the pages of a chunk lie that hold `wanted` rows, the dictionary page first. `index` null:
// the whole chunk. As the footer says: perhaps outside of the file.
std::vector<arrow::io::ReadRange> PagesOf(const parquet::FileMetaData& footer, int row_group,
                                          int leaf, const PageIndex* index,
                                          const RowRanges& wanted);

// Some pages of one chunk, with what reading them costs.
struct SelectedPages {
  std::unique_ptr<parquet::PageReader> reader;
  RowRanges rows;  // that its pages hold, in order
  int64_t pages = 0;
  int64_t bytes = 0;  // compressed
};

// The pages that hold `wanted` rows (behind the dictionary page, if there is one). `index` null:
// the whole chunk. A page that does not hold as many values as the index says is kCorrupt when it
// is come to (chunks that are not repeated).
Result<SelectedPages> SelectPages(const std::shared_ptr<arrow::io::RandomAccessFile>& source,
                                  const parquet::FileMetaData& footer, int row_group, int leaf,
                                  const PageIndex* index, const RowRanges& wanted);

// A row group of which one column can be read, once, through the given pages.
std::shared_ptr<parquet::RowGroupReader> OneColumn(
    const std::shared_ptr<parquet::FileMetaData>& footer, int row_group,
    std::unique_ptr<parquet::PageReader> pages);

// A file of which this row group and column can be read, once.
std::unique_ptr<parquet::ParquetFileReader> OneColumnFile(
    const std::shared_ptr<parquet::FileMetaData>& footer, int row_group,
    std::unique_ptr<parquet::PageReader> pages);

}  // namespace timelake::table

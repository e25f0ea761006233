#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arrow/io/interfaces.h>

#include "base/error.h"
#include "table/row_ranges.h"

namespace parquet {
class FileMetaData;
}

namespace timelake::table {

// The pages of one column chunk (Parquet format, "Page Index").
struct PageIndex {
  struct Page {
    int64_t first_row = 0;  // in the row group
    int64_t offset = 0;     // in the file, of the page's header
    int64_t size = 0;       // with its header
  };
  // As the file has them, plainly encoded; the interpretation is ColumnStats'.
  struct Bounds {
    std::string min, max;
    bool all_null = false;
    std::optional<int64_t> null_count;
  };

  std::vector<Page> pages;
  int64_t rows = 0;            // of the row group
  std::vector<Bounds> bounds;  // by page; empty: not known

  RowRange rows_of(size_t page) const {
    return {pages[page].first_row, page + 1 < pages.size() ? pages[page + 1].first_row : rows};
  }
  // The first page that ends behind the row.
  size_t page_of(int64_t row) const;
};

// The page indexes of one file: read at once where they lie together, parsed when asked for.
// Immutable to its users; thread-safe.
class PageIndexes {
 public:
  // `source` and `footer` are of the same file.
  static Result<std::shared_ptr<PageIndexes>> Read(
      const std::shared_ptr<arrow::io::RandomAccessFile>& source,
      const parquet::FileMetaData& footer);

  // Null when the file has none for this chunk, or one that contradicts the footer: then the chunk
  // is read as a whole.
  Result<std::shared_ptr<const PageIndex>> Of(
      const std::shared_ptr<arrow::io::RandomAccessFile>& source,
      const parquet::FileMetaData& footer, int row_group, int leaf);

  // Bytes held when everything is parsed, about.
  int64_t bytes() const { return bytes_; }

 private:
  Result<std::shared_ptr<arrow::Buffer>> Bytes(
      const std::shared_ptr<arrow::io::RandomAccessFile>& source, int64_t offset,
      int64_t length) const;

  int64_t region_offset_ = 0;
  std::shared_ptr<arrow::Buffer> region_;  // null: each index is read by itself
  int64_t file_size_ = 0;
  int64_t bytes_ = 0;
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::shared_ptr<const PageIndex>> parsed_;
};

}  // namespace timelake::table

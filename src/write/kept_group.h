#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/io/interfaces.h>
#include <parquet/file_reader.h>
#include <parquet/page_index.h>

#include "base/error.h"
#include "iceberg/manifest.h"
#include "write/encoding.h"
#include "write/metrics.h"
#include "write/parquet_writer.h"

namespace timelake::write {

// A row group of a data file of ours that can go into another one as it is: its pages are neither
// decoded nor encoded again.
struct KeptGroup {
  struct Column {
    std::shared_ptr<parquet::ColumnIndex> column_index;
    std::shared_ptr<parquet::OffsetIndex> offset_index;
    ColumnPlan plan;  // that would give such pages
    LeafFacts facts;
  };

  std::shared_ptr<arrow::io::RandomAccessFile> file;
  std::shared_ptr<const parquet::FileMetaData> footer;
  int row_group = 0;
  int64_t rows = 0;
  int64_t bytes = 0;  // in the file
  std::vector<Column> columns;
};

// A data file of a writer of this format (docs/format.md, "Data files").
class KeptFile {
 public:
  // nullopt: it is not one, or not as a file of this format would be: other columns or sort order,
  // another codec, Bloom filters, nested columns. Of `format` schema, sorting and settings
  // count; the schema outlives the result.
  static Result<std::optional<KeptFile>> Open(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                              const iceberg::DataFile& data, FileFormat format);

  int row_groups() const { return footer_->num_row_groups(); }
  int64_t rows_of(int row_group) const { return footer_->RowGroup(row_group)->num_rows(); }

  // nullopt: not all is known of it that a file says of its row groups.
  Result<std::optional<KeptGroup>> Group(int row_group) const;

 private:
  KeptFile() = default;

  const iceberg::Schema* schema_ = nullptr;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::shared_ptr<parquet::ParquetFileReader> reader_;
  std::shared_ptr<const parquet::FileMetaData> footer_;
};

}  // namespace timelake::write

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>

#include "iceberg/manifest.h"
#include "iceberg/schema.h"
#include "table/settings.h"
#include "write/encoding.h"
#include "write/metrics.h"

namespace timelake::write {

class FlatFile;
struct KeptGroup;
class NestedFile;

// A column that rows are sorted by: position among the schema's fields.
struct SortedBy {
  int field = 0;
  bool descending = false;
  bool nulls_first = true;
};

// All that has to be known before a file is opened.
struct FileFormat {
  const iceberg::Schema* schema = nullptr;  // outlives the writer
  std::vector<ColumnPlan> columns;          // one per field
  std::vector<SortedBy> sorting;            // empty: not sorted
  table::Settings settings;
  int64_t page_rows = 0;  // at most; 0: as the settings say
  // Columns that are gathered and encoded at once (ParallelColumns).
  int threads = 1;
};

// Whether all columns are primitive.
bool IsFlat(const iceberg::Schema& schema);

// Arrow types of the columns that a file of this format takes.
std::shared_ptr<arrow::Schema> SchemaOf(const FileFormat& format);

// Rows [begin, end) of a column of a row group, of its type in SchemaOf. Asked for one range after
// the other, for several columns at once; a column that is a dictionary is asked for as a whole,
// and has only values that rows use.
using ColumnSource =
    std::function<Result<std::shared_ptr<arrow::Array>>(int column, int64_t begin, int64_t end)>;

// Encodes one data file (docs/format.md, "Data files"). The one place that would change for another
// file format. Not thread-safe.
class DataFileWriter {
 public:
  static Result<std::unique_ptr<DataFileWriter>> Open(std::shared_ptr<arrow::io::OutputStream> sink,
                                                      FileFormat format);
  ~DataFileWriter();

  // One row group; none for no rows. After an error the file is lost.
  Status WriteRowGroup(int64_t rows, const ColumnSource& source);

  // A row group that a KeptFile of this format had, as it is. Not in files of nested columns.
  Status Keep(const KeptGroup& group);

  // The rows of a batch, in row groups of their own.
  Status Write(const arrow::RecordBatch& batch);

  // What has left for the sink: rows, and the size of their row groups.
  int64_t flushed_rows() const { return flushed_rows_; }
  Result<int64_t> FlushedBytes() const;

  // Writes the footer and closes the sink. The result lacks path, partition and sort order.
  Result<iceberg::DataFile> Close();

 private:
  explicit DataFileWriter(FileFormat format);

  Status WriteFlat(int64_t rows, const ColumnSource& source);
  Status WriteNested(int64_t rows, const ColumnSource& source);

  FileFormat format_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::io::OutputStream> sink_;
  std::unique_ptr<FlatFile> flat_;      // either
  std::unique_ptr<NestedFile> nested_;  // or
  std::vector<ColumnMetrics> metrics_;
  int64_t portion_rows_ = 0;  // of a column at once
  int64_t rows_ = 0;
  int64_t flushed_rows_ = 0;
};

}  // namespace timelake::write

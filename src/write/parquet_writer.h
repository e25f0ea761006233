#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>

#include "iceberg/manifest.h"
#include "iceberg/schema.h"
#include "table/settings.h"
#include "write/encoding.h"
#include "write/metrics.h"

namespace arrow::internal {
class Executor;
}
namespace parquet::arrow {
class FileWriter;
}

namespace timelake::write {

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
  // Encodes the columns of a batch at once; null: one after the other. Writers on several threads
  // may share it, but none may be driven from one of its own threads.
  arrow::internal::Executor* executor = nullptr;
};

// Arrow types of the batches that a file of this format takes.
std::shared_ptr<arrow::Schema> SchemaOf(const FileFormat& format);

// Encodes one data file (docs/format.md, "Parquet"). The one place that would change for another
// file format. Not thread-safe.
class DataFileWriter {
 public:
  static Result<std::unique_ptr<DataFileWriter>> Open(std::shared_ptr<arrow::io::OutputStream> sink,
                                                      FileFormat format);
  ~DataFileWriter();

  // Appends rows to the current row group, which ends after `row_group_rows` rows or EndRowGroup.
  // All batches of a row group share each column's dictionary, else that column turns to PLAIN.
  Status Write(const arrow::RecordBatch& batch);

  // The same in two steps: Count each column once, on several threads if need be (in whole or in
  // pieces, before or after its rows are written), and write the rows.
  void Count(int column, const arrow::Array& array) { metrics_[column].Add(array); }
  Status WriteCounted(const arrow::RecordBatch& batch);
  void EndRowGroup() { group_ended_ = true; }

  // Size of the row groups that have left for the sink, i.e. all but the last.
  Result<int64_t> FlushedBytes() const;

  // Writes the footer and closes the sink. The result lacks path, partition and sort order.
  Result<iceberg::DataFile> Close();

 private:
  explicit DataFileWriter(FileFormat format);

  FileFormat format_;
  std::shared_ptr<arrow::io::OutputStream> sink_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  std::vector<ColumnMetrics> metrics_;
  int64_t rows_ = 0;
  bool group_ended_ = false;
};

}  // namespace timelake::write

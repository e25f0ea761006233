#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>

#include "iceberg/manifest.h"
#include "iceberg/schema.h"
#include "iceberg/value.h"
#include "table/env.h"
#include "table/row_ranges.h"

namespace parquet {
class FileMetaData;
}

namespace timelake::table {

struct PageIndex;

// What reading some rows of a column took.
struct ReadCost {
  int64_t bytes = 0;  // compressed
  int64_t pages = 0;  // data pages, where a page index tells them apart
  int64_t values = 0;
};

// Reads one Parquet data file as the columns of an Iceberg schema: matched by field id at every
// depth (files without ids: by name, specification "Column Projection"), missing columns null,
// promoted types widened, timestamps of other units converted exactly or refused. Emits Arrow types
// as iceberg::ToArrow gives them. Parquet is the one kind of data file today; a second would be a
// second implementation behind `OpenDataFile`. Thread-safe; footers and page indexes are shared
// through the cache.
class DataFileReader {
 public:
  virtual ~DataFileReader() = default;

  virtual int num_row_groups() const = 0;
  virtual int64_t row_group_rows(int row_group) const = 0;
  // Position in the file of the first row of a row group.
  virtual int64_t row_group_offset(int row_group) const = 0;
  virtual const parquet::FileMetaData& metadata() const = 0;

  // Min and max of a primitive top-level column in a row group, serialised as iceberg::ToBytes;
  // nullopt when the file does not say or must not be trusted: unsigned and INT96 columns, legacy
  // statistics, the maximum of floats (NaN, which is above it, is not counted in the footer). Text
  // may be cut. Only of columns in the request; one that the file lacks is all null or constant.
  struct Stats {
    std::optional<std::string> min, max;
    std::optional<int64_t> null_count;
    // The least and the greatest value that is neither null nor NaN, where they are sure to be
    // values of the column: not cut, not rounded, not a zero of unknown sign. Row groups only.
    std::optional<std::string> exact_min, exact_max;
  };
  virtual Stats row_group_stats(int row_group, int field_id) const = 0;

  // --- single columns of the request, by their place in it ---

  // Whether the file lacks the column: its rows are null or constant.
  virtual bool is_missing(size_t column) const = 0;

  // The column's pages in a row group. Null where nothing tells them apart: no page index, a nested
  // column of several leaves, a column that the file lacks.
  virtual Result<std::shared_ptr<const PageIndex>> Pages(int row_group, size_t column) = 0;
  // As row_group_stats, of one page. The maximum of floats is there and leaves NaN out.
  virtual Stats page_stats(size_t column, const PageIndex& pages, size_t page) const = 0;
  // False when a Bloom filter says that none of the values is in the column of the row group.
  virtual Result<bool> MayHold(int row_group, size_t column,
                               const std::vector<iceberg::Value>& values) = 0;
  // The column's rows, one range behind the other; only their pages are read. Strings as asked for
  // by `keep_dictionaries`, a row group's always with the same dictionary.
  virtual Result<std::shared_ptr<arrow::Array>> ReadRows(int row_group, size_t column,
                                                         const RowRanges& rows, ReadCost* cost) = 0;

  // Where ReadRows of these rows will read; empty for what the file lacks or for a chunk that no
  // index cuts into pages. As the footer says: perhaps outside of the file.
  virtual Result<std::vector<arrow::io::ReadRange>> Ranges(int row_group, size_t column,
                                                           const RowRanges& rows) = 0;
  // Has ranges fetched, in few requests side by side, without waiting for them. Where the store is
  // not remote nothing.
  virtual void WillNeed(const std::vector<arrow::io::ReadRange>& ranges) = 0;
  virtual bool is_remote() const = 0;

  // Streams the given row groups. Batches have at most `batch_rows` rows and never cross a row
  // group. They may outlive this reader.
  virtual Result<std::shared_ptr<arrow::RecordBatchReader>> Read(const std::vector<int>& row_groups,
                                                                 int64_t batch_rows = 65536) = 0;
};

struct DataFileRequest {
  std::string uri;
  std::optional<int64_t> size;
  std::shared_ptr<arrow::Buffer> bytes;  // the whole file, where it has been read already
  // Columns wanted, top-level fields of the table's schema (nested types may be pruned by their
  // ids). None: batches of rows without columns.
  std::vector<iceberg::Field> fields;
  // Constant values for columns that are missing in the file: identity partition values.
  std::vector<std::pair<int, iceberg::Value>> constants;
  // Keep strings that the row groups read store in dictionaries alone as arrow arrays of type
  // dictionary<int32, string>.
  bool keep_dictionaries = false;
};

// Has the end of a data file fetched, where OpenDataFile will look for it: without waiting. Nothing
// where the store is near or the footer known. A size of 0 is none.
void FetchTail(const Env& env, const std::string& uri, int64_t size);
// Whether OpenDataFile will have to wait for a store that is far away.
bool MustFetchTail(const Env& env, const std::string& uri);

// kNotFound / kCorrupt / kIo name the file; kUnsupported for ORC and Avro data files.
Result<std::unique_ptr<DataFileReader>> OpenDataFile(const Env& env,
                                                     const DataFileRequest& request);

}  // namespace timelake::table

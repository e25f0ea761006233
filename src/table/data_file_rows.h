#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <parquet/column_reader.h>
#include <parquet/metadata.h>

#include "base/error.h"
#include "table/data_file_columns.h"
#include "table/data_file_reader.h"
#include "table/page_index.h"
#include "table/row_ranges.h"

namespace timelake::table {

// Rows of single columns of one open file: only the pages that hold them are read and decoded.
// Thread-safe.
class RowDecoder {
 public:
  RowDecoder(std::string uri, std::shared_ptr<arrow::io::RandomAccessFile> source,
             std::shared_ptr<parquet::FileMetaData> footer, std::shared_ptr<PageIndexes> indexes)
      : uri_(std::move(uri)),
        source_(std::move(source)),
        footer_(std::move(footer)),
        indexes_(std::move(indexes)) {}

  // Null where no page index speaks of whole rows of the column: nested with several leaves, or
  // without an index.
  Result<std::shared_ptr<const PageIndex>> Pages(int row_group, const ColumnSource& column);

  // Where the pages of the rows lie; see DataFileReader::Ranges.
  Result<std::vector<arrow::io::ReadRange>> Ranges(int row_group, const ColumnSource& column,
                                                   const RowRanges& rows);

  // The rows, one behind the other, as the table's type; with `keep_dictionary` strings of a chunk
  // that is stored in a dictionary alone as dictionary<int32, utf8>, of one row group always with
  // the same dictionary. Errors name file, row group and column.
  Result<std::shared_ptr<arrow::Array>> Read(int row_group, const ColumnSource& column,
                                             const RowRanges& rows, bool keep_dictionary,
                                             ReadCost* cost);

 private:
  Result<std::shared_ptr<arrow::Array>> ReadFlat(int row_group, const ColumnSource& column,
                                                 const RowRanges& rows, bool keep_dictionary,
                                                 ReadCost* cost);
  Result<std::shared_ptr<arrow::Array>> ReadAny(int row_group, const ColumnSource& column,
                                                const RowRanges& rows, ReadCost* cost);

  std::shared_ptr<arrow::Array> KnownDictionary(int row_group, int leaf);
  std::shared_ptr<arrow::Array> Remember(int row_group, int leaf,
                                         std::shared_ptr<arrow::Array> dictionary);

  const std::string uri_;
  const std::shared_ptr<arrow::io::RandomAccessFile> source_;
  const std::shared_ptr<parquet::FileMetaData> footer_;
  const std::shared_ptr<PageIndexes> indexes_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::shared_ptr<arrow::Array>> dictionaries_;
};

// Whether a text chunk is stored in a dictionary alone, so that reading it as such costs nothing.
bool IsDictionary(const parquet::ColumnChunkMetaData& chunk);

// INT96 holds nanoseconds of a day and a day; Arrow converts to microseconds without looking.
// kUnsupported if a value has nanoseconds. May throw.
Status CheckInt96(parquet::ColumnReader* column);

}  // namespace timelake::table

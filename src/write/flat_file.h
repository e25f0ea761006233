#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <arrow/io/interfaces.h>
#include <parquet/bloom_filter_writer.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>

#include "base/error.h"
#include "write/column_chunk.h"
#include "write/encoding.h"
#include "write/parquet_properties.h"

namespace timelake::write {

struct KeptGroup;

// Writes a Parquet file of top-level primitive columns: magic, row groups, Bloom filters, page
// index, footer (docs/format.md, "Data files").
class FlatFile {
 public:
  // `schema`: the Arrow types of rows; `plans`: one a column.
  static Result<std::unique_ptr<FlatFile>> Open(std::shared_ptr<arrow::io::OutputStream> sink,
                                                ParquetPlan plan,
                                                std::shared_ptr<arrow::Schema> schema,
                                                std::vector<ColumnPlan> plans);

  Status BeginRowGroup();
  // One whose columns take no rows: their pages are those of `group`, which outlives it.
  Status BeginRowGroup(const KeptGroup& group);
  // Rows of one column; other columns may be appended to at the same time.
  Status Append(int column, const arrow::Array& rows) { return chunks_[column]->Append(rows); }
  // No more rows come in the column; other columns may be appended to at the same time.
  Status FinishColumn(int column) { return chunks_[column]->Finish(); }
  // Of a column of the current row group: whether it counts its rows, and what it found, once it is
  // finished.
  bool KnowsFacts(int column) const { return chunks_[column]->knows_facts(); }
  LeafFacts Facts(int column) const { return chunks_[column]->Facts(); }
  // All columns are finished, and have `rows` rows each.
  Status EndRowGroup(int64_t rows);
  // Writes what belongs to the file as a whole.
  Result<std::unique_ptr<parquet::FileMetaData>> Close();

 private:
  using MakeChunk = std::function<Result<std::unique_ptr<ColumnChunk>>(const ChunkPlace&)>;

  FlatFile() = default;

  Status BeginRowGroup(const MakeChunk& make);

  std::shared_ptr<arrow::io::OutputStream> sink_;
  ParquetPlan plan_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<ColumnPlan> plans_;
  std::unique_ptr<parquet::FileMetaDataBuilder> metadata_;
  std::unique_ptr<parquet::PageIndexBuilder> page_index_;
  std::unique_ptr<parquet::BloomFilterBuilder> bloom_filters_;
  parquet::RowGroupMetaDataBuilder* row_group_ = nullptr;
  int row_groups_ = 0;
  std::vector<std::unique_ptr<ColumnChunk>> chunks_;  // of the current row group
};

}  // namespace timelake::write

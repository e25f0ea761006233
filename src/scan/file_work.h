#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <arrow/io/interfaces.h>

#include "scan/deletes.h"
#include "scan/page_prune.h"
#include "scan/scan.h"
#include "table/data_file_reader.h"

namespace timelake::scan {

// All that the morsels of one file share.
struct FileWork {
  size_t index = 0;  // in Plan::files
  const iceberg::DataFile* file = nullptr;
  table::DataFileRequest request;  // all columns that are read, each once
  std::unique_ptr<table::DataFileReader> reader;
  std::vector<size_t> output;                         // columns to hand out
  std::vector<size_t> filter_columns;                 // by filter
  std::vector<std::vector<PlacedTest>> filter_tests;  // by filter
  std::vector<PlacedTest> tests;                      // of the predicate
  std::shared_ptr<const FileDeletes> deletes;
  std::vector<size_t> delete_columns;

  const std::vector<iceberg::Field>& columns() const { return request.fields; }
};

// A unit of work: some rows of one row group.
struct Morsel {
  std::shared_ptr<const FileWork> file;
  int row_group = 0;
  table::RowRanges rows;
  std::vector<bool> streamed;  // columns to read by ColumnStream; empty: none
  int64_t bytes_ahead = 0;     // that ReadAhead has had fetched
};

// Where the pages of the morsel's columns lie, those of columns that are streamed left out. Filters
// leave no page out: where each request takes long, one more for the columns behind a filter costs
// more than bytes that turn out not to be needed.
Result<std::vector<arrow::io::ReadRange>> RangesOf(const Morsel& morsel);

// Identity partition values stand in for columns that a file does not have (specification, "Column
// Projection"): field id and value.
std::vector<std::pair<int, iceberg::Value>> PartitionConstants(
    const iceberg::TableMetadata& metadata, const ScanFile& file);

// Opens a file and finds out what of its columns is needed where. kUnsupported for data files that
// are not Parquet.
Result<std::shared_ptr<FileWork>> OpenFile(const table::Env& env,
                                           const iceberg::TableMetadata& metadata,
                                           const ScanFile& file, size_t index,
                                           const ScanRequest& request);

// The file's morsels: what row-group statistics and the page index leave, in pieces.
Result<std::vector<Morsel>> Split(const std::shared_ptr<const FileWork>& file,
                                  const ScanRequest& request, Counters* counters);

// Of the column of row ids.
std::shared_ptr<arrow::Field> RowIdField();

// Reads a morsel's rows that are not deleted and pass the request's filters. `positions`, if given,
// get the place in the file of each row of the batch read last.
Result<std::shared_ptr<arrow::RecordBatchReader>> ReadMorsel(
    const table::Env& env, Morsel morsel, const ScanRequest& request,
    std::shared_ptr<Counters> counters, RowFilter* filter,
    std::vector<int64_t>* positions = nullptr);

}  // namespace timelake::scan

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "base/error.h"
#include "iceberg/schema.h"
#include "sql/engine.h"
#include "timelake/ingest.h"

namespace timelake::ingest {

struct CsvSource {
  std::string path;
  bool gzip = false;
  char delimiter = ',';
  std::vector<std::string> names;  // of the header
};

Result<CsvSource> OpenCsv(const std::string& path, bool gzip, const ReadFilesOptions& options);

// All fields as text, in file order, NULL for an unquoted empty field; through DuckDB's reader. A
// ragged or broken line -> kInvalidArgument naming file and line.
Result<std::shared_ptr<arrow::RecordBatchReader>> ReadCsvText(sql::Engine& engine,
                                                              const CsvSource& source);

// As ReadCsvText with the columns that `schema` knows converted to its types, each value exactly:
// what does not fit is kInvalidArgument naming file, line, column and text. Columns it does not
// know stay text. `table_name` is for messages. `note` gets one line about times without a zone.
Result<std::shared_ptr<arrow::RecordBatchReader>> ReadCsv(
    sql::Engine& engine, const CsvSource& source, const iceberg::Schema& schema,
    const ReadFilesOptions& options, const std::string& table_name,
    const std::function<void(const std::string&)>& note);

// Spellings of NULL in force.
std::vector<std::string> NullValues(const ReadFilesOptions& options);

}  // namespace timelake::ingest

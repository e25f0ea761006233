#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "iceberg/manifest.h"
#include "iceberg/metadata.h"
#include "sim/raw_table.h"
#include "table/append_columns.h"
#include "timelake/options.h"
#include "write/write.h"

namespace timelake::sim {

// The table of the simulation: time, series, value.
iceberg::Schema TableSchema();
// As a new table has it.
const iceberg::Schema& NewSchema();
TableOptions OptionsOf(bool dedup, bool shared);
// By which the first of the two days of all rows is past, on any clock.
std::string RetentionOfOneDay();

// The table as it is written.
Result<write::Target> TargetOf(const iceberg::TableMetadata& metadata);

// The columns of an append: those of the table, and `value` as a new one if the table has none now.
table::WrittenColumns ColumnsFor(const iceberg::TableMetadata& metadata);
// The column that appends bring values for; 0: there is none.
int ValueColumn(const iceberg::Schema& schema);

// The rows of one append as the writer makes them: real Parquet files in these columns, one for
// each day, without a place yet. Values of other columns are left out. Made once for the same rows.
struct DataFiles {
  struct File {
    iceberg::DataFile file;  // path: only what follows "<table>/data/", without the file's name
    std::shared_ptr<arrow::Buffer> bytes;
    std::vector<Row> rows;
  };
  std::vector<File> files;
  std::shared_ptr<arrow::RecordBatch> newest;
  iceberg::Schema schema;
};
const DataFiles& FilesOf(const std::vector<Row>& rows, const iceberg::Schema& schema);

}  // namespace timelake::sim

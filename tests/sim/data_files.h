#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "iceberg/manifest.h"
#include "iceberg/metadata.h"
#include "sim/raw_table.h"
#include "timelake/options.h"
#include "write/write.h"

namespace timelake::sim {

// The table of the simulation: time, series, value.
iceberg::Schema TableSchema();
TableOptions OptionsOf(bool dedup, bool shared);

// The table as it is written.
Result<write::Target> TargetOf(const iceberg::TableMetadata& metadata);

// The rows of one append as the writer makes them: real Parquet files, one for each day, without a
// place yet. Made once for the same rows.
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
const DataFiles& FilesOf(const std::vector<Row>& rows);

}  // namespace timelake::sim

#pragma once

#include <memory>

#include "store/object_store.h"

namespace duckdb {
class DatabaseInstance;
}

namespace timelake::sql {

// Lets DuckDB write and read s3:// files through our stores: COPY TO, COPY FROM, read_parquet and
// the like, globs with * and ?. A file appears when it is whole; a COPY that fails leaves what was
// there before. `lake_store`, if it serves s3://, is used, with its credentials; else one with
// those of the environment, opened by the first such file. Throws DuckDB's exceptions.
void RegisterObjectFiles(duckdb::DatabaseInstance& database,
                         std::shared_ptr<store::ObjectStore> lake_store);

}  // namespace timelake::sql

#pragma once

#include <memory>

#include "store/object_store.h"

namespace duckdb {
class DatabaseInstance;
}

namespace timelake::sql {

// Lets DuckDB write and read the files of object stores (s3://, gs://, az:// and their other
// spellings), and read those of web servers, through our stores: COPY TO, COPY FROM, read_parquet
// and the like, globs with * and ?. A file appears when it is whole; a COPY that fails leaves what
// was there before. `lake_store`, if it can have the file, is used, with its credentials; else one
// with those of the environment, opened by the first such file. Throws DuckDB's exceptions.
void RegisterObjectFiles(duckdb::DatabaseInstance& database,
                         std::shared_ptr<store::ObjectStore> lake_store);

}  // namespace timelake::sql

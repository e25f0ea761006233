#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <duckdb/main/connection.hpp>
#include <duckdb/main/database.hpp>

#include "sql/engine.h"
#include "sql/lake_context.h"

namespace timelake::sql {

// One DuckDB instance, set up for us, and its only connection. Results that are still open share
// it.
struct Database {
  std::unique_ptr<duckdb::DuckDB> instance;
  std::unique_ptr<duckdb::Connection> connection;

  // Throws what DuckDB throws; a wrong option is an InvalidInputException.
  // `files`: statements may read and write those of the lake's store.
  static std::shared_ptr<Database> Open(const SessionOptions& options,
                                        const std::shared_ptr<LakeContext>& lake, bool files);
};

}  // namespace timelake::sql

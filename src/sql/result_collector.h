#pragma once

#include <memory>

#include <duckdb/main/client_config.hpp>

#include "sql/result_format.h"
#include "sql/result_queue.h"

namespace timelake::sql {

// Where a statement's result goes.
struct ResultOutput {
  bool dictionaries = false;
  std::shared_ptr<const ResultFormat> format;  // known when the statement is planned
  ResultQueue queue;
};

// For ClientConfig: the statement's last operator turns its rows into Arrow batches, on each thread
// that makes them, and queues those in `output`. Order is kept where DuckDB keeps it.
duckdb::get_result_collector_t CollectInto(std::shared_ptr<ResultOutput> output);

}  // namespace timelake::sql

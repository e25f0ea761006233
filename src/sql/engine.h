#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/record_batch.h>

#include "base/error.h"
#include "table/append_fn.h"
#include "table/row_delete.h"
#include "timelake/session.h"

namespace timelake::table {
class Catalog;
}

namespace timelake::sql {

struct EngineOptions {
  SessionOptions session;
  std::shared_ptr<table::Catalog> lake;  // null: a plain DuckDB, e.g. for its file readers
  table::AppendFn append;                // how INSERT writes; empty: it is refused
  table::DeleteFn erase;                 // how DELETE does; empty: likewise
};

// One DuckDB instance with one connection: the only door to DuckDB for the layers above.
// Thread-safe; statements run one at a time, and Interrupt works meanwhile.
class Engine {
 public:
  static Result<std::shared_ptr<Engine>> Make(EngineOptions options);
  ~Engine();

  // Runs one statement and streams its result, in batches of some ten thousand rows. The reader
  // outlives the engine if need be. kInvalidArgument while an earlier reader is neither at its end
  // nor destroyed.
  //
  // Column types are DuckDB's exports: TIMESTAMP WITH TIME ZONE is timestamp(us, "UTC"), HUGEINT
  // (the sum of integers) decimal128(38, 0), enums dictionaries, UUID text. kUnsupported for the
  // few types that Arrow does not have.
  Result<std::shared_ptr<arrow::RecordBatchReader>> Query(std::string_view text,
                                                          const Params& params = {});

  // Runs one statement to its end, without its rows.
  Status Run(std::string_view text, const Params& params = {});

  // Stops the running statement; a no-op when none runs.
  void Interrupt();

  // Statements of a script, without the semicolons; comments and quotes respected.
  static Result<std::vector<std::string>> Split(std::string_view text);

 private:
  class Impl;
  explicit Engine(std::shared_ptr<Impl> impl);

  std::shared_ptr<Impl> impl_;
};

}  // namespace timelake::sql

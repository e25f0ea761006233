#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/record_batch.h>

#include "base/error.h"
#include "table/append_fn.h"
#include "table/rollup_fn.h"
#include "table/row_delete.h"
#include "timelake/session.h"

namespace timelake::table {
class Catalog;
}

namespace timelake::sql {

class ZoneClock;
struct TableVersion;

struct EngineOptions {
  SessionOptions session;
  std::shared_ptr<table::Catalog> lake;  // null: a plain DuckDB, e.g. for its file readers
  table::AppendFn append;                // how INSERT writes; empty: it is refused
  table::DeleteFn erase;                 // how DELETE does; empty: likewise
  table::RollupFn rollups;               // what runs statements about rollups; empty: likewise
  // Of the refresh of a rollup: its name, and the version of its source that all statements see.
  std::string refreshed;
  std::map<std::string, std::shared_ptr<const TableVersion>> pinned;  // by full name
  bool files = true;  // whether statements may read and write files of the lake's store
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

  // Gives an engine that was made over a lake other work, with the same SessionOptions and without
  // a lake's files; false: it cannot be used any more, or not yet. Release lets go of the lake.
  bool Reuse(EngineOptions options);
  bool Release();

  // The clock of a time zone. kInvalidArgument: there is no such zone.
  Result<std::shared_ptr<ZoneClock>> ClockOf(const std::string& zone);

  // Statements of a script, without the semicolons; comments and quotes respected.
  static Result<std::vector<std::string>> Split(std::string_view text);

 private:
  class Impl;
  explicit Engine(std::shared_ptr<Impl> impl);

  std::shared_ptr<Impl> impl_;
};

}  // namespace timelake::sql

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/process.h"
#include "sim/raw_table.h"
#include "table/rollup_position.h"

namespace timelake::sim {

// A rollup of the table, of which only the refresh is real: what has changed since the snapshot
// that it records is found by the code of src/maintain, and its buckets, one for each time, then
// get the rows that the table has there. Its own commits are those of any table, so here a refresh
// that was overtaken by another one is merely dropped.
class Rollup {
 public:
  // A refresh; afterwards all buckets have to be what the table has at the version that was read.
  void Turn(Process& process);

 private:
  using Buckets = std::map<int64_t, std::vector<Row>>;  // by row time; rows that are seen, sorted

  std::optional<table::RollupPosition> position_;
  Buckets buckets_;
};

}  // namespace timelake::sim

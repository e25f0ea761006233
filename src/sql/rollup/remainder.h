#pragma once

#include <optional>
#include <vector>

#include "sql/functions/bucket_grid.h"
#include "sql/table_version.h"
#include "table/rollup_definition.h"

namespace timelake::sql {

// Which part of a query's times a rollup answers.
struct Split {
  std::vector<table::TimeRange> rollup;  // whole buckets
  std::vector<table::TimeRange> source;  // the rest: newer rows, and edges of buckets
  double cost = 0;                       // rows to read, about
  double source_cost = 0;                // without the rollup
};

// `times`: that are asked for. nullopt: no bucket is certain to be what the source has.
Result<std::optional<Split>> SplitTimes(const TableVersion& source, const TableVersion& rollup,
                                        BucketGrid grid, table::TimeRange times);

}  // namespace timelake::sql

#pragma once

#include <optional>
#include <vector>

#include "sql/functions/bucket_grid.h"
#include "sql/table_version.h"
#include "table/rollup_position.h"

namespace timelake::sql {

// Which part of a query's times a rollup answers.
struct Split {
  std::vector<table::TimeRange> rollup;  // whole buckets
  std::vector<table::TimeRange> source;  // the rest: newer rows, and edges of buckets
  table::TimeRange kept;                 // of the rollup's files there: first and last bucket
  double cost = 0;                       // rows to read, about
  double source_cost = 0;                // without the rollup
};

// `times`: that are asked for. nullopt: no bucket is certain to be what the source has.
Result<std::optional<Split>> SplitTimes(const TableVersion& source, const TableVersion& rollup,
                                        BucketGrid grid, table::TimeRange times);

// Whether each bucket of the rollup with rows in `ranges` lies in one bucket of `coarse`. False
// also where that would take long to see.
bool RefinesWithin(BucketGrid fine, BucketGrid coarse, const std::vector<table::TimeRange>& ranges,
                   table::TimeRange kept);

}  // namespace timelake::sql

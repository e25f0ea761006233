#pragma once

#include <string>

#include "base/error.h"
#include "iceberg/schema.h"
#include "sql/engine.h"
#include "sql/functions/bucket_grid.h"
#include "table/catalog.h"
#include "table/rollup_definition.h"

namespace timelake::sql {

// A rollup that is to be made.
struct NewRollup {
  table::RollupDefinition definition;
  iceberg::Schema schema;  // columns in the order of the query, then what only merging needs
  bool fits_peer = false;
};

// What a defining query says (docs/rollups.md). `name`: of the rollup, for messages; bare table
// names are looked up in `name_space`. `engine` runs over `catalog`. kInvalidArgument: it is no
// query over one table, in groups of time buckets; kUnsupported, naming it: something in it cannot
// be kept, and what can.
Result<NewRollup> DefineRollup(Engine& engine, table::Catalog& catalog, const std::string& name,
                               const std::string& select, const std::string& name_space);

// What a definition of the Rust timelake lacks, from the table that it is about; SQL in the
// parser's spelling.
Status CompleteDefinition(const iceberg::TableMetadata& source,
                          table::RollupDefinition* definition);

// The buckets of a rollup. kInvalidArgument: there is no such zone.
Result<BucketGrid> GridOf(Engine& engine, const table::RollupWidth& width);

}  // namespace timelake::sql

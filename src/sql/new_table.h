#pragma once

#include "iceberg/schema.h"
#include "timelake/options.h"

namespace duckdb {
struct CreateTableInfo;
}

namespace timelake::sql {

// What CREATE TABLE asks for.
struct NewTable {
  iceberg::Schema schema;
  TableOptions options;
};

// kUnsupported: keys, checks, defaults, generated columns, OR REPLACE, and column types without an
// Iceberg counterpart, naming the column and what to cast to.
Result<NewTable> ToNewTable(const duckdb::CreateTableInfo& info);

}  // namespace timelake::sql

#pragma once

#include "iceberg/schema.h"
#include "timelake/options.h"

namespace duckdb {
class ColumnDefinition;
struct CreateTableInfo;
}  // namespace duckdb

namespace timelake::sql {

// What CREATE TABLE asks for.
struct NewTable {
  iceberg::Schema schema;
  TableOptions options;
};

// kUnsupported: keys, checks, defaults, generated columns, OR REPLACE, and column types without an
// Iceberg counterpart, naming the column and what to cast to.
Result<NewTable> ToNewTable(const duckdb::CreateTableInfo& info);

// A column of it, or of ALTER TABLE: nullable, ids to be given. Errors alike.
Result<iceberg::Field> ToNewColumn(const duckdb::ColumnDefinition& column);

}  // namespace timelake::sql

#pragma once

#include "table/schema_changes.h"

namespace duckdb {
class ClientContext;
struct AlterTableInfo;
}  // namespace duckdb

namespace timelake::sql {

// `ALTER TABLE ... ADD COLUMN, DROP COLUMN, RENAME COLUMN, ALTER COLUMN ... TYPE` as a change of
// the table's columns. kUnsupported, with what there is: any other ALTER TABLE, and of these what a
// table of the lake cannot do (defaults, constraints, USING, members of a struct).
// Throws for a type that DuckDB does not know.
Result<table::ColumnChange> ToColumnChange(duckdb::ClientContext& context,
                                           const duckdb::AlterTableInfo& alter);

}  // namespace timelake::sql

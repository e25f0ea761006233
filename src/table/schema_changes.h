#pragma once

#include <string>
#include <vector>

#include "iceberg/metadata.h"
#include "table/commit.h"
#include "timelake/options.h"

namespace timelake::table {

// One change of a table's columns, as the doors hand it on.
struct ColumnChange {
  SchemaChange::Kind kind = SchemaChange::Kind::kAdd;
  std::string column;
  std::string new_name;  // kRename
  iceberg::Type type;    // kAdd, kWiden; ids inside do not matter
  std::string after;     // kAdd: the column that it comes behind; empty: at the end
  // SQL: names are looked up in any case; and of kAdd a column that is there already, of kDrop one
  // that is not, is no error.
  bool any_case = false;
  bool if_needed = false;
};

// kInvalidArgument naming table, column and the text of the type, with what is accepted.
Result<ColumnChange> ToColumnChange(const std::string& table, const SchemaChange& change);

// Makes another schema the current one: ids of columns stay, new columns are optional and get ids
// after `last-column-id`, which no column ever had, so that files written before are read right
// (Iceberg specification, "Schema Evolution"). The schema gets an id of its own, also if an earlier
// one had the same columns: so a schema with a higher id is younger. Pure; nothing to change leaves
// the metadata as it is. kInvalidArgument as Table::ChangeSchema says.
Status ChangeColumns(const std::string& table, const std::vector<ColumnChange>& changes,
                     iceberg::TableMetadata* metadata);

// Adds `schema` under a new id and makes it the current one.
void SetSchema(iceberg::Schema schema, iceberg::TableMetadata* metadata);

// All changes as one commit without a snapshot; nothing changed: no commit.
Result<CommitResult> CommitSchema(Handle& handle, const std::vector<ColumnChange>& changes,
                                  const CommitOptions& options = {});

}  // namespace timelake::table

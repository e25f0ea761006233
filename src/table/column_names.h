#pragma once

#include <string_view>
#include <vector>

#include "iceberg/schema.h"

namespace timelake::table {

// Names of columns and of their members as a table of ours may have them: UTF-8 without control
// characters, and such that SQL can tell them apart (DuckDB, Spark and others ignore case).
// kInvalidArgument naming the column. `parent`: the column that the fields are members of, if any.
Status CheckColumnNames(const std::vector<iceberg::Field>& fields, std::string_view parent = "");

}  // namespace timelake::table

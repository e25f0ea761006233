#pragma once

#include <string>
#include <vector>

#include "table/contract.h"

namespace duckdb {
class SQLStatement;
}

namespace timelake::sql {

// Lake tables that a parsed statement seems to read, by their text alone: `lake.ns.t`, `ns.t`,
// `lake.t` and `t` (in `default_namespace`), without the names of common table expressions and
// duplicates. For loading them at once; a name may turn out to be a view or nothing. Not all
// statements are looked into.
std::vector<table::TableName> MentionedTables(const duckdb::SQLStatement& statement,
                                              const std::string& default_namespace);

}  // namespace timelake::sql

#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "iceberg/metadata.h"
#include "table/handle.h"

namespace timelake::table {

// The columns that the data files of an append were written with.
struct WrittenColumns {
  iceberg::Schema schema;       // of the files, columns that the append adds included
  std::set<std::string> given;  // names of those that the data had; the others hold nothing of it
  int last_column_id = 0;       // of the table at that time: ids above are of added columns
};

// A version that files can be committed on.
struct FittedVersion {
  Version base;                    // with the added columns in its current schema
  std::vector<std::string> added;  // their names
};

// `base` as the files fit it: the data's columns have the names, ids and types (or wider ones) that
// they were written with, or are not there yet and their ids are free. nullopt: the columns were
// changed since in such a way that the rows would be read wrongly or in part; they have to be
// written anew. Pure.
std::optional<FittedVersion> FitColumns(const Version& base, const WrittenColumns& written);

}  // namespace timelake::table

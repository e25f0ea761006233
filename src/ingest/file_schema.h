#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "iceberg/schema.h"
#include "timelake/ingest.h"

namespace timelake::ingest {

// The delimiter that a text file is read with.
std::string DelimiterOf(const ReadFilesOptions& options, FileFormat format);

// The columns of a file, types of text inferred from all of it: never one that would lose a value.
Result<iceberg::Schema> SchemaOfFile(const std::string& path, const ReadFilesOptions& options);

// The columns of the files that `table` lacks, in the order of their first appearance. Only files
// that have such columns are read. Of two types of one column that which can hold the other's
// values counts, of whole numbers and floats double; kInvalidArgument where there is none.
Result<iceberg::Schema> NewColumnsOfFiles(const std::vector<std::string>& paths,
                                          const iceberg::Schema& table,
                                          const ReadFilesOptions& options);

}  // namespace timelake::ingest

#pragma once

#include <memory>

#include <arrow/array.h>

#include "base/error.h"
#include "write/convert.h"

namespace timelake::ingest {

// Bytes from their text form in delimited files, the one that the command and DuckDB write: "\x"
// and two hex digits are one byte, everything else stands for itself. A backslash that begins no
// such group is kInvalidArgument.
Result<std::shared_ptr<arrow::Array>> BytesOf(const arrow::StringArray& texts,
                                              const write::Place& place);

}  // namespace timelake::ingest

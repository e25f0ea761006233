#pragma once

#include <string>

#include <arrow/type_fwd.h>

namespace timelake::cli {

// The name of a column's type as `create --schema` takes it, e.g. "timestamptz", "list<string>".
std::string TypeName(const arrow::DataType& type);

}  // namespace timelake::cli

#pragma once

#include "sim/data_files.h"
#include "table/append.h"

namespace timelake::sim {

// The index of an append, as api::Append makes it: the base's, extended by the newest rows.
table::IndexFn AppendIndex(table::Handle& handle, const DataFiles& data);

}  // namespace timelake::sim

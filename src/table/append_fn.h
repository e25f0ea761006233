#pragma once

#include <functional>

#include <arrow/record_batch.h>

#include "table/handle.h"
#include "table/settings.h"
#include "timelake/options.h"

namespace timelake::table {

// Writes the rows of a reader to a table as one commit, all or nothing. Injected where SQL writes,
// because the layer that does it lies above.
using AppendFn =
    std::function<Result<AppendResult>(Handle& handle, const SettingMap& session,
                                       arrow::RecordBatchReader* reader, const AppendOptions&)>;

}  // namespace timelake::table

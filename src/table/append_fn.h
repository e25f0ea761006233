#pragma once

#include <functional>

#include <arrow/record_batch.h>

#include "table/handle.h"
#include "table/settings.h"
#include "timelake/options.h"

namespace timelake::table {

// Writes the rows of a reader to a table as one commit, all or nothing; `create`, if there is one,
// is the metadata of a table that the same commit makes (without rows, too). Injected where SQL
// writes, because the layer that does it lies above.
using AppendFn = std::function<Result<AppendResult>(
    Handle& handle, const SettingMap& session, arrow::RecordBatchReader* reader,
    const AppendOptions&, const iceberg::TableMetadata* create)>;

}  // namespace timelake::table

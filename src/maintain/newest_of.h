#pragma once

#include <memory>
#include <vector>

#include <arrow/record_batch.h>

#include "maintain/live_files.h"
#include "table/contract.h"

namespace timelake::maintain {

// The newest row of each series in some of the live files, as the last-value index holds it. Reads
// them all.
Result<std::shared_ptr<arrow::RecordBatch>> NewestOf(const table::Env& env, const LiveFiles& live,
                                                     std::vector<const scan::ScanFile*> files,
                                                     const table::Contract& contract);

}  // namespace timelake::maintain

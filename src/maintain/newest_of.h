#pragma once

#include <map>
#include <memory>
#include <vector>

#include <arrow/record_batch.h>

#include "maintain/live_files.h"
#include "table/contract.h"

namespace timelake::maintain {

// The newest row of each series in some files, as the last-value index holds it. Reads them all,
// except for those of which the newest rows are known already.
using KnownNewest = std::map<const scan::ScanFile*, std::shared_ptr<arrow::RecordBatch>>;
Result<std::shared_ptr<arrow::RecordBatch>> NewestOf(const table::Env& env, const LiveFiles& live,
                                                     std::vector<const scan::ScanFile*> files,
                                                     const table::Contract& contract,
                                                     const KnownNewest& known = {});

}  // namespace timelake::maintain

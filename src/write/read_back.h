#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "write/rolling_files.h"

namespace timelake::write {

// The rows of data files, one file after the other, in the target's schema; strings stay
// dictionaries where they can. `env` and `target` outlive the reader.
std::shared_ptr<arrow::RecordBatchReader> ReadFilesBack(const table::Env* env, const Target* target,
                                                        const std::vector<StoredFile>& files);

}  // namespace timelake::write

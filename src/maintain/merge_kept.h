#pragma once

#include <cstdint>

#include "maintain/merge_output.h"

namespace timelake::maintain {

// Files whose rows follow one another (in_sequence.h), merged by taking over their row groups as
// they are: only those that are less than half as long as they might be are put together anew. No
// rows are deleted.
// False: it cannot be done, or most rows are in such groups; then nothing has happened.
// `most_rows`, `most_bytes`: that may be in memory at once, decoded and as they are in files.
// `read`: rows of the files that are dealt with.
Result<bool> MergeKept(const table::Env& env, const iceberg::TableMetadata& metadata,
                       const write::Target& target, const MergeRequest& request, int64_t most_rows,
                       int64_t most_bytes, MergeOutput* output,
                       std::vector<write::StoredFile>* files, int64_t* read);

}  // namespace timelake::maintain

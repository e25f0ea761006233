#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "iceberg/metadata.h"
#include "scan/scan.h"
#include "table/contract.h"

// Rows grouped by series and time bucket. In a file that is sorted by series and time the rows of
// such a group lie together; where no other file has rows of its bucket, they are the whole group,
// and nobody has to look for more of them.

namespace timelake::scan {

// The start of the bucket around a time, which never falls as time goes on; nullopt: it has none.
using BucketStart = std::function<std::optional<int64_t>(int64_t time)>;

// For each of `files` whether it shares no group with another one, and is in order. Pure. Not of a
// file with so many rows that a sum of halves (RunOp) might overflow.
std::vector<bool> HaveWholeGroups(const iceberg::TableMetadata& metadata,
                                  const table::Contract& contract, const FileList& files,
                                  const BucketStart& bucket);

}  // namespace timelake::scan

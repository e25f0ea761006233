#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "iceberg/metadata.h"
#include "scan/scan.h"
#include "table/contract.h"

// Rows grouped by series and time bucket. In a file that is sorted by series and time the rows of
// such a group lie together; where no other file has rows of its bucket, they are the whole group,
// and nobody has to look for more of them.

namespace timelake::scan {

// The start of the bucket around a time, which never falls as time goes on; nullopt: it has none.
using BucketStart = std::function<std::optional<int64_t>(int64_t time)>;

// Paths of the files that share no group with another one of `files`, and are in order. Pure.
std::set<std::string> FilesOfWholeGroups(const iceberg::TableMetadata& metadata,
                                         const table::Contract& contract, const FileList& files,
                                         const BucketStart& bucket);

}  // namespace timelake::scan

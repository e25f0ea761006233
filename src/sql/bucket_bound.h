#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "scan/scan.h"
#include "sql/scan_function.h"

namespace timelake::sql {

// What rows of the last buckets are at or above (of the first ones: at or below), if enough buckets
// are found within some rows of the scan, which reads one column, the time. Nothing otherwise: then
// all rows may matter.
Result<std::optional<int64_t>> FindBucketBound(
    scan::Scanner& scanner, scan::RowFilter* filter,
    const std::function<scan::TimeBucket(int64_t)>& bucket, const BucketLimit& limit);

}  // namespace timelake::sql

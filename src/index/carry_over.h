#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/record_batch.h>

#include "table/handle.h"
#include "table/snapshot_attempt.h"

namespace timelake::index {

// The index of a snapshot on top of `base` that moves rows into other files and changes none.
// `moved`: batches of the newest of them, one a series, as CheckMoved takes them. nullopt: there is
// no index to carry on, or it may not hold any more; the reason is logged.
Result<std::optional<table::IndexObject>> CarryOver(
    const table::Handle& handle, const table::Version& base, int64_t snapshot_id,
    const std::vector<std::shared_ptr<arrow::RecordBatch>>& moved, bool order_kept);

}  // namespace timelake::index

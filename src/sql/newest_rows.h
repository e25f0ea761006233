#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <arrow/type_fwd.h>

#include "scan/predicate.h"
#include "sql/table_version.h"

namespace timelake::sql {

// The newest row of each series, in the columns of the table's schema, from the last-value index;
// null when none holds. Series for which `predicate` cannot hold may be missing: of a large index
// that is not in memory only the pages are read that may have the others.
std::shared_ptr<arrow::RecordBatch> NewestRows(const TableVersion& table,
                                               const scan::Predicate& predicate);

// About how many series the table has; nullopt: no index tells.
std::optional<int64_t> CountSeries(const TableVersion& table);

}  // namespace timelake::sql

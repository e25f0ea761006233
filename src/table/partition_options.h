#pragma once

#include <vector>

#include "iceberg/partition.h"
#include "timelake/options.h"

namespace timelake::table {

// TableOptions::partition_by as partition fields of the new table's schema, without ids. Errors name
// the text, what is wrong with it and what is accepted.
Result<std::vector<iceberg::PartitionField>> ReadPartitionBy(const iceberg::Schema& schema,
                                                             const TableOptions& options);

}  // namespace timelake::table

#pragma once

#include <cstdint>
#include <vector>

#include "iceberg/partition.h"
#include "iceberg/value.h"
#include "write/combine.h"
#include "write/rank.h"

namespace timelake::write {

// Partition of each row, and the partition values (one per field of the spec) of each rank. Ranks
// follow the order of the values and every one occurs. An unpartitioned spec gives one partition.
struct Partitions {
  Ranks ranks;
  std::vector<std::vector<iceberg::Value>> values;
};

// Partition values of the rows under `target.spec`: years, months, days and hours by floor, before
// 1970 as well. kUnsupported for transforms that this version does not know.
Result<Partitions> SplitRows(const Target& target, const Rows& rows);

}  // namespace timelake::write

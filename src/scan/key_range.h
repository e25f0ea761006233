#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "iceberg/manifest.h"
#include "iceberg/partition.h"
#include "iceberg/schema.h"
#include "scan/facts.h"

namespace timelake::scan {

// What a manifest says of the series and times in a data file. May be wider than the file.
struct KeyRange {
  int64_t first = std::numeric_limits<int64_t>::min();  // times
  int64_t last = std::numeric_limits<int64_t>::max();
  std::vector<ColumnFacts> keys;  // one per column of the series key
  // The file's partition, where known; both outlive this.
  const iceberg::PartitionSpec* spec = nullptr;
  const std::vector<iceberg::Value>* partition = nullptr;
};

// The columns that KeyRange speaks of; they outlive this.
struct KeyColumns {
  const iceberg::Field* time = nullptr;
  std::vector<const iceberg::Field*> keys;
};

// `spec`: the file's; null: unknown.
KeyRange KeyRangeOf(const iceberg::DataFile& file, const iceberg::PartitionSpec* spec,
                    const KeyColumns& columns);

// Whether both may have rows of one series: by bounds, and by partitions of key columns, of which
// all rows of a series have the same (buckets, say, of all of which the bounds are about alike).
bool SeriesMeet(const KeyRange& a, const KeyRange& b, const KeyColumns& columns);

// Whether both may have rows of one series and time.
bool RangesMeet(const KeyRange& a, const KeyRange& b, const KeyColumns& columns);

}  // namespace timelake::scan

#pragma once

#include <cstdint>
#include <vector>

#include <arrow/record_batch.h>

#include "iceberg/metadata.h"
#include "scan/scan.h"
#include "table/env.h"
#include "write/row_compare.h"
#include "write/write.h"

namespace timelake::maintain {

// Files sorted by series, cut at the same series, so that they can be merged range by range: what
// is in memory at once is a part of them.
struct SeriesRanges {
  // Series keys, in order: range i holds those below splits[i] and not below splits[i - 1].
  std::shared_ptr<arrow::RecordBatch> splits;
  std::vector<write::OrderColumn> order;    // of its columns
  std::vector<std::vector<int64_t>> begin;  // by file: the first row of each range; and their end

  size_t count() const { return static_cast<size_t>(splits->num_rows()) + 1; }
  int64_t RowsOf(size_t range) const;
};

// Reads the series key of all files, one file after the other. They have no delete files, and say
// that they are sorted; where one is not, its rows lie in the wrong ranges (InRange). At least one
// range, at most `count`: a series is never cut. `target` has a series key.
Result<SeriesRanges> FindSeriesRanges(const table::Env& env, const iceberg::TableMetadata& metadata,
                                      const write::Target& target,
                                      const std::vector<const scan::ScanFile*>& files, int count);

// Whether the series of the rows from `first` to `last`, in order, belong to the range. `keys`: the
// columns of the series key.
Result<bool> InRange(const SeriesRanges& ranges, size_t range, const arrow::ArrayVector& keys,
                     int64_t first, int64_t last);

}  // namespace timelake::maintain

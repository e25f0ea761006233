#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <arrow/array.h>

#include "iceberg/schema.h"
#include "table/settings.h"
#include "write/combine.h"

namespace timelake::write {

enum class ColumnEncoding {
  kDictionary,
  kPlain,
  kDelta,
  kByteStreamSplit,
  kDeltaLengths,  // strings: lengths apart from bytes
  kDeltaStrings   // ... and without what they begin with in common
};

// How one top-level column is stored in a file. Arrow's writer can only fall back from a dictionary
// to PLAIN, so a better second choice has to be made before the file is opened.
struct ColumnPlan {
  ColumnEncoding encoding = ColumnEncoding::kDictionary;
  // Arrays of the column are dictionary(int32, utf8).
  bool arrow_dictionary = false;
  // Parquet min and max. Off for floats that hold NaN: other engines prune wrongly on them.
  bool statistics = true;
  bool bloom_filter = false;
};

// Decides by a sample (blocks of neighbouring rows) of rows order[begin, end) as they are written:
// - time column: delta; boolean: plain;
// - strings, bytes, UUIDs: dictionary while it stays below the limit in each row group, else plain
//   (not a delta of lengths: Iceberg's vectorised reader for Spark has none);
// - integers, dates, times: the smaller of dictionary and delta;
// - floats: dictionary while values repeat (it decodes faster), else byte-stream-split.
// The settings `float-encoding`, `integer-encoding` and `string-encoding` decide instead where they
// are not `auto`.
// `row_group_rows` is the length of the row groups.
std::vector<ColumnPlan> PlanColumns(const iceberg::Schema& schema,
                                    const std::vector<int>& delta_ids,
                                    const table::Settings& settings, const Rows& rows,
                                    const std::vector<uint32_t>& order, int64_t begin, int64_t end,
                                    int64_t row_group_rows);

}  // namespace timelake::write

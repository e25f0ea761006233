#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "write/write.h"

namespace timelake::write {

// All rows of an append, one array a column. A column of strings that repeat, and every series key
// column of strings, is dictionary(int32, utf8) with one dictionary of distinct values: sorting
// and gathering then move codes, and the Parquet writer hashes no string again.
struct Rows {
  arrow::ArrayVector columns;      // one per field of the schema
  std::vector<char> may_hold_nan;  // per column: floats in it, at any depth, among them NaN
  int64_t count = 0;
  double row_bytes = 0;  // in memory, on average
};

// `batches` come from Aligner::Align for `target`; they are released on the way.
Result<Rows> Combine(const Target& target, std::vector<std::shared_ptr<arrow::RecordBatch>> batches,
                     int threads);

// Whether floats of the array, at any depth, hold NaN. May say yes for a NaN below a null.
bool HoldsNan(const arrow::ArrayData& data);

// Dense array of the values of dictionary(int32, utf8); other arrays as they are.
Result<std::shared_ptr<arrow::Array>> WithoutDictionary(const std::shared_ptr<arrow::Array>& array);

}  // namespace timelake::write

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "write/write.h"

namespace timelake::write {

// Which of the batches that an append came in has a row.
class PartMap {
 public:
  PartMap() = default;
  explicit PartMap(std::vector<int64_t> lengths);

  struct Place {
    uint32_t part;
    uint32_t row;  // within the part
  };
  Place Find(int64_t row) const {
    uint32_t part = of_block_[static_cast<size_t>(row >> kBlockBits)];
    while (row >= begin_[part + 1]) ++part;
    return {part, static_cast<uint32_t>(row - begin_[part])};
  }

 private:
  static constexpr int kBlockBits = 12;
  std::vector<int64_t> begin_;      // of each part; and the number of rows
  std::vector<uint32_t> of_block_;  // part of the first row of each block of rows
};

// All rows of an append. A column of strings that repeat, and every series key column of strings,
// is dictionary(int32, utf8) with one dictionary of distinct values: sorting and gathering then
// move codes, and the Parquet writer hashes no string again. Numbers that nothing is ordered or
// partitioned by stay in the parts that they came in, if those are long: they are moved once, when
// they are gathered.
struct Rows {
  arrow::ArrayVector columns;      // one per field of the schema; null: it is in `parts`
  std::vector<char> may_hold_nan;  // per column: floats in it, at any depth, among them NaN
  int64_t count = 0;
  double row_bytes = 0;                        // in memory, on average
  std::vector<arrow::ArrayVector> parts = {};  // per column; empty where `columns` has it
  PartMap part_map = {};                       // of all columns in parts

  const std::shared_ptr<arrow::DataType>& type(size_t column) const {
    return columns[column] != nullptr ? columns[column]->type() : parts[column].front()->type();
  }
};

// `batches` come from Aligner::Align for `target`; they are released on the way.
Result<Rows> Combine(const Target& target, std::vector<std::shared_ptr<arrow::RecordBatch>> batches,
                     int threads);

// Whether floats of the array, at any depth, hold NaN. May say yes for a NaN below a null.
bool HoldsNan(const arrow::ArrayData& data);

// Strings that repeat, or are few, as dictionary(int32, utf8) of distinct values; others, and
// arrays of other types, as they are.
Result<std::shared_ptr<arrow::Array>> CodeStrings(std::shared_ptr<arrow::Array> strings);

// Dense array of the values of dictionary(int32, utf8); other arrays as they are.
Result<std::shared_ptr<arrow::Array>> WithoutDictionary(const std::shared_ptr<arrow::Array>& array);

}  // namespace timelake::write

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/array.h>

#include "base/error.h"

namespace timelake::write {

// Rows of a column (or of several) as numbers in the same order: a < b by value exactly when rank a
// < rank b. Nulls rank first. Not every number below `count` need occur.
struct Ranks {
  std::vector<uint32_t> of_row;
  uint32_t count = 1;
};

// Ranks of a primitive column or a dictionary(int32, utf8). Strings and bytes are ordered by
// unsigned bytes; -0.0 and 0.0 are equal, NaN comes last.
Result<Ranks> RankColumn(const arrow::Array& array, bool descending = false,
                         bool nulls_last = false);

// Ranks of integers without nulls.
Ranks RankIntegers(const std::vector<int64_t>& values);

// Ranks by `major`, then by `minor`. Both have the same number of rows, at least one.
Ranks CombineRanks(Ranks major, const Ranks& minor);

// Renumbers so that every rank below `count` occurs.
void Densify(Ranks* ranks);

}  // namespace timelake::write

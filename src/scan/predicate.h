#pragma once

#include <string>
#include <vector>

#include "iceberg/value.h"

namespace timelake::scan {

// What pruning needs of a filter: for each column a test that bounds can answer. A conjunction;
// anything it cannot say is left out (then nothing is pruned by it) and stays above the scan.
// Comparisons are SQL's: null never passes one (nor does a null in `values`), NaN equals itself
// and is above everything, -0.0 equals 0.0. Tests of nested fields are ignored.
enum class Op { kEq, kNotEq, kLt, kLe, kGt, kGe, kIn, kIsNull, kNotNull };

struct ColumnTest {
  int field_id = 0;
  Op op = Op::kEq;
  // One; any number for kIn; none for null tests. Typed as the column.
  std::vector<iceberg::Value> values;
};

struct Predicate {
  std::vector<ColumnTest> all_of;
};

}  // namespace timelake::scan

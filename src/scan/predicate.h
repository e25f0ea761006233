#pragma once

#include <string>
#include <vector>

#include "iceberg/value.h"

namespace timelake::scan {

// What pruning needs of a filter: for each column a test that bounds can answer. A conjunction; anything it cannot say is
// left out (then nothing is pruned by it) and stays above the scan.
enum class Op { kEq, kNotEq, kLt, kLe, kGt, kGe, kIn, kIsNull, kNotNull };

struct ColumnTest {
  int field_id = 0;
  Op op = Op::kEq;
  std::vector<iceberg::Value> values;  // one; any number for kIn; none for null tests. Typed as the column.
};

struct Predicate {
  std::vector<ColumnTest> all_of;
};

}  // namespace timelake::scan

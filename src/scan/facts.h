#pragma once

#include <optional>

#include "iceberg/schema.h"
#include "iceberg/value.h"
#include "scan/predicate.h"

namespace timelake::scan {

// What is known of one column over a set of rows (a row group, a file, the files of a manifest).
// Every default is "nothing known".
struct ColumnFacts {
  // Of the values that are neither null nor NaN. May be wider than the values.
  std::optional<iceberg::Value> lower, upper;
  bool may_be_null = true;
  bool may_be_value = true;  // something that is neither null nor NaN
  bool may_be_nan = true;    // ignored unless the type is float or double
  // The upper bound of text or bytes may be a cut prefix of a value.
  bool upper_may_be_prefix = false;

  // The bounds as serialised by anyone. One that cannot be read, or bounds that contradict each
  // other, count as unknown.
  void SetBounds(const iceberg::Type& type, const std::string* lower_bytes,
                 const std::string* upper_bytes);
};

// Order of two values as SQL compares them: NaN above everything and equal to itself, -0.0 equal to
// 0.0, otherwise as iceberg::Compare. nullopt for null or for values of different kinds.
std::optional<int> CompareValues(const iceberg::Value& a, const iceberg::Value& b);

// True when no row can pass the test. Null never passes a comparison, also `x = null` does not.
bool NoRowPasses(const ColumnTest& test, const iceberg::Type& type, const ColumnFacts& facts);

// True when every row is certain to pass. Nothing passes a comparison with null.
bool AllRowsPass(const ColumnTest& test, const iceberg::Type& type, const ColumnFacts& facts);

}  // namespace timelake::scan

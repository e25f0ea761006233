#pragma once

#include <algorithm>
#include <vector>

#include "iceberg/value.h"

namespace timelake::iceberg {

// An order of the partitions of one spec, for maps.
struct PartitionLess {
  bool operator()(const std::vector<Value>& a, const std::vector<Value>& b) const {
    return std::lexicographical_compare(
        a.begin(), a.end(), b.begin(), b.end(),
        [](const Value& x, const Value& y) { return Compare(x, y) < 0; });
  }
};

}  // namespace timelake::iceberg

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <arrow/array.h>

#include "base/error.h"

namespace timelake::write {

// One column of an order of rows, by its position among the columns.
struct OrderColumn {
  int column = 0;
  bool descending = false;
  bool nulls_last = false;
};

// Compares rows of two batches of the same columns (strings dense or as dictionary(int32, utf8), on
// either side). The order is that of RankColumn: strings and bytes by unsigned bytes, -0.0 equal to
// 0.0, NaN last. The arrays must outlive it.
class RowComparer {
 public:
  static Result<RowComparer> Make(const arrow::ArrayVector& left, const arrow::ArrayVector& right,
                                  const std::vector<OrderColumn>& order);

  // Negative, zero, positive; zero for every pair when the order has no columns.
  int Compare(int64_t left, int64_t right) const {
    for (const auto& compare : columns_) {
      if (const int order = compare(left, right)) return order;
    }
    return 0;
  }

 private:
  std::vector<std::function<int(int64_t, int64_t)>> columns_;
};

}  // namespace timelake::write

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace timelake::sql {

// `n` bins of equal width over [min, max), numbered 1 to n; 0 is below, n + 1 is from max on (NaN
// sorts greatest, so it is there). Bin i begins exactly at Edge(i). min < max, both finite, as is
// their difference; n > 0.
struct HistogramBins {
  double min = 0;
  double max = 1;
  int64_t n = 1;

  double Edge(int64_t bin) const {
    if (bin > n) return max;
    return min + (max - min) * (static_cast<double>(bin - 1) / static_cast<double>(n));
  }

  int64_t BinOf(double value) const {
    if (value < min) return 0;
    if (!(value < max)) return n + 1;
    const double position = (value - min) / (max - min) * static_cast<double>(n);
    int64_t bin = std::clamp(static_cast<int64_t>(position) + 1, int64_t{1}, n);
    // Rounding may have put it on the wrong side of an edge.
    while (bin > 1 && value < Edge(bin)) --bin;
    while (bin < n && value >= Edge(bin + 1)) ++bin;
    return bin;
  }

  bool operator==(const HistogramBins&) const = default;
};

}  // namespace timelake::sql

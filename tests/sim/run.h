#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/config.h"

namespace timelake::sim {

struct RunReport {
  std::string failure;  // "" when every promise was kept
  uint64_t hash = 0;    // of the trace: the same for the same seed and rules
  std::vector<std::string> lines;
  std::map<std::string, int64_t> counts;
};

// One seed from the first create to the quiet end.
RunReport Run(const Config& config, bool keep_trace);

}  // namespace timelake::sim

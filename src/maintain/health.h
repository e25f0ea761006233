#pragma once

#include <cstdint>
#include <vector>

#include "maintain/live_file.h"

namespace timelake::maintain {

// What compaction would look for in a table's files, counted: pure.
struct FileHealth {
  int64_t small = 0;
  int64_t unsorted = 0;     // not known to be in the table's order
  int64_t overlapping = 0;  // may share rows of one series and time with a file of another write
};

FileHealth HealthOf(const std::vector<LiveFile>& files, const MeetFn& meet);

}  // namespace timelake::maintain

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "maintain/live_file.h"

namespace timelake::maintain {

// Which data files a delete takes out of a table: pure.

// Rows that a later write replaced, by place of their file.
using ReplacedRows = std::map<size_t, std::vector<int64_t>>;  // positions, ascending

struct RowDeleteRules {
  bool by_ingest = false;  // an ingest time decides between rows before the order of writes does
};

// Of a table whose readers see the newest row of each series and time: the files that have to be
// rewritten without their replaced rows when rows of the files `touched` go. Those, as their order
// among the files of their write may change by it; older files that may hold versions of the rows
// that go, which would come to light; and files of one write with one of them, for the order.
std::set<size_t> FilesToRewrite(const std::vector<LiveFile>& files, const std::set<size_t>& touched,
                                const ReplacedRows& replaced, const RowDeleteRules& rules,
                                const MeetFn& meet);

// Files other than `chosen` with rows of the same series and times: whether one of their rows
// counts may depend on those.
std::vector<size_t> FilesToWatch(const std::vector<LiveFile>& files, const std::set<size_t>& chosen,
                                 const MeetFn& meet);

}  // namespace timelake::maintain

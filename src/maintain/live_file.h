#pragma once

#include <functional>
#include <string>

#include "scan/key_range.h"
#include "scan/scan.h"

namespace timelake::maintain {

// A live data file as plans see it: what the manifests say, and no more.
struct LiveFile {
  const scan::ScanFile* file = nullptr;
  scan::KeyRange range;  // no keys and all times in plain tables
  bool sorted = false;   // by the table's order
  bool small = false;    // below three quarters of the target size
  std::string unfit;     // why it cannot be rewritten; empty: it can
};

// Whether two files may hold rows of one series and time.
using MeetFn = std::function<bool(const scan::KeyRange&, const scan::KeyRange&)>;

}  // namespace timelake::maintain

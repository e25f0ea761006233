#pragma once

#include <functional>
#include <string>
#include <vector>

#include "iceberg/value.h"
#include "scan/key_range.h"
#include "scan/scan.h"

namespace timelake::maintain {

// A partition of a spec of the table.
struct Home {
  int spec_id = 0;
  std::vector<iceberg::Value> partition;  // one value for each field of the spec
};

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

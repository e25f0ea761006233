#pragma once

#include <tuple>

#include "scan/scan.h"

namespace timelake::scan {

// Whether rows of `a` come before those of `b` where no ingest time tells (commit protocol, "Order
// of writes").
inline bool IsOlder(const ScanFile& a, const ScanFile& b) {
  return std::tie(a.sequence_number, a.data->file_path) <
         std::tie(b.sequence_number, b.data->file_path);
}

}  // namespace timelake::scan

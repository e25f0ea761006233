#pragma once

#include <string_view>

#include <arrow/array.h>

#include "write/convert.h"

namespace timelake::ingest {

// Whether a time in ISO form carries a zone ("Z" or an offset after the time of day).
bool HasZone(std::string_view text);

// Watches one column of times: zoned and naive ones may not be mixed, since one of the two would be
// read hours off. Remembers across batches.
class ZoneTracker {
 public:
  // kInvalidArgument names the first odd value.
  Status Check(const arrow::StringArray& texts, const write::Place& place);

  // True once: the first time after a naive value was seen.
  bool FirstNaive();

 private:
  enum class Kind { kNone, kZoned, kNaive } kind_ = Kind::kNone;
  bool told_ = false;
};

}  // namespace timelake::ingest

#pragma once

#include <string>
#include <string_view>

#include "base/hash.h"

namespace timelake::maintain {

// One of several machines that maintain the same tables: each partition belongs to one of them,
// what concerns a table as a whole to the first. Which one it is must not depend on who asks.
struct Shard {
  int number = 0;  // 0 .. of - 1
  int of = 1;

  bool is_first() const { return number == 0; }

  // `partition`: as PartitionPath spells it; the same one of different tables may differ.
  bool Has(std::string_view table_uuid, std::string_view partition) const {
    if (of == 1) return true;
    return BucketOf(HashString(std::string(table_uuid) + "/" + std::string(partition)), of) ==
           number;
  }
};

}  // namespace timelake::maintain

#pragma once

#include <memory>
#include <optional>

#include "write/sort.h"

namespace timelake::write {

// An append as it is written without the buckets of the table's partitions.
struct Coarse {
  std::unique_ptr<const Target> target;  // with WriteOptions::coarse_spec
  Arrangement arrangement;
};

// Set where the buckets would give hundreds of tiny files, and leaving them out a half of them at
// most. `fine`: the rows as they are arranged with them.
Result<std::optional<Coarse>> WithoutBuckets(const Target& target, const WriteOptions& options,
                                             const Rows& rows, const Arrangement& fine);

}  // namespace timelake::write

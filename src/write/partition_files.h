#pragma once

#include <cstdint>
#include <vector>

#include "write/rolling_files.h"
#include "write/sort.h"

namespace timelake::write {

// A partition that is written whole.
struct PartitionJob {
  const PartitionRun* run = nullptr;
  uint64_t seed = 0;                         // of the names of its files
  std::vector<StoredFile>* files = nullptr;  // finished ones are appended, also after an error
};

// Writes the rows of `arrangement` in these partitions, up to `at_once` partitions at a time; the
// columns of one that has more than its share of them are encoded on several of `threads`.
Status WritePartitions(const FilePlan& plan, const Rows& rows, const Arrangement& arrangement,
                       const std::vector<PartitionJob>& jobs, int threads, int at_once);

// Warns of an append that makes thousands of files, one a partition.
void WarnOfFanOut(const table::Env& env, const Target& target, size_t partitions);

}  // namespace timelake::write

#include "write/partition_files.h"

#include <utility>

#include <fmt/format.h>

#include "base/parallel.h"

namespace timelake::write {

Status WritePartitions(const FilePlan& plan, const Rows& rows, const Arrangement& arrangement,
                       const std::vector<PartitionJob>& jobs, int threads, int at_once) {
  const int count = static_cast<int>(jobs.size());
  // Threads of our own may wait for the pool, whose threads wait for nothing.
  const int columns_at_once = count < threads ? threads : 1;
  return ParallelFor(count, at_once, [&](int i) -> Status {
    const PartitionJob& job = jobs[static_cast<size_t>(i)];
    TL_ASSIGN_OR_RAISE(auto files, RollingFiles::Make(&plan, job.run->values, job.seed,
                                                      columns_at_once, job.files));
    TL_RETURN_NOT_OK(
        files.Add(rows, arrangement.order, job.run->begin, job.run->end, arrangement.in_place));
    return files.Finish();
  });
}

void WarnOfFanOut(const table::Env& env, const Target& target, size_t partitions) {
  constexpr size_t kMany = 1000;
  if (partitions < kMany) return;
  env.Log(LogLevel::kWarning,
          fmt::format("table {}: one append has rows of {} partitions, and writes a file for each; "
                      "coarser partitions, or appends in the order of time, make fewer files",
                      target.table_name, partitions));
}

}  // namespace timelake::write

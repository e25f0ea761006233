#include "write/partition_files.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/parallel.h"

namespace timelake::write {

Status WritePartitions(const FilePlan& plan, const Rows& rows, const Arrangement& arrangement,
                       const std::vector<PartitionJob>& jobs, int threads, int at_once) {
  int64_t rows_of_all = 0;
  for (const PartitionJob& job : jobs) rows_of_all += job.run->end - job.run->begin;
  // As many columns at once as the partition has rows: most may be in one of several. Threads of
  // our own may wait for the pool, whose threads wait for nothing.
  const auto columns_at_once = [&](const PartitionRun& run) {
    const auto share = static_cast<double>(run.end - run.begin) /
                       static_cast<double>(std::max<int64_t>(1, rows_of_all));
    return std::clamp(static_cast<int>(std::ceil(share * threads)), 1, threads);
  };
  return ParallelFor(static_cast<int>(jobs.size()), at_once, [&](int i) -> Status {
    const PartitionJob& job = jobs[static_cast<size_t>(i)];
    TL_ASSIGN_OR_RAISE(auto files, RollingFiles::Make(&plan, job.run->values, job.seed,
                                                      columns_at_once(*job.run), job.files));
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

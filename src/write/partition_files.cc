#include "write/partition_files.h"

#include <utility>

#include <arrow/util/thread_pool.h>

#include "write/parallel.h"

namespace timelake::write {

Status WritePartitions(const FilePlan& plan, const Rows& rows, const Arrangement& arrangement,
                       const std::vector<PartitionJob>& jobs, int threads, int at_once) {
  const int count = static_cast<int>(jobs.size());
  // Threads of our own may wait for the pool, whose threads wait for nothing.
  Workers workers;
  if (count < threads) workers = {threads, SharedPool()};
  return ParallelFor(count, at_once, [&](int i) -> Status {
    const PartitionJob& job = jobs[static_cast<size_t>(i)];
    TL_ASSIGN_OR_RAISE(auto files,
                       RollingFiles::Make(&plan, job.run->values, job.seed, workers, job.files));
    TL_RETURN_NOT_OK(
        files.Add(rows, arrangement.order, job.run->begin, job.run->end, arrangement.in_place));
    return files.Finish();
  });
}

}  // namespace timelake::write

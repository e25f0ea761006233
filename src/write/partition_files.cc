#include "write/partition_files.h"

#include <memory>
#include <utility>

#include <arrow/util/thread_pool.h>

#include "write/parallel.h"

namespace timelake::write {

Status WritePartitions(const FilePlan& plan, const Rows& rows, const Arrangement& arrangement,
                       const std::vector<PartitionJob>& jobs, int threads, int at_once) {
  const int count = static_cast<int>(jobs.size());
  // Threads of our own that wait for a pool of our own cannot block each other.
  std::shared_ptr<arrow::internal::ThreadPool> pool;
  Workers workers;
  if (count < threads) {
    TL_ASSIGN_OR_RAISE(pool, arrow::internal::ThreadPool::Make(threads));
    workers = {threads, pool.get()};
  }
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

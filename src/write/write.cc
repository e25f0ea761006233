#include "write/write.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/util/thread_pool.h>

#include "iceberg/arrow_schema.h"
#include "write/align.h"
#include "write/combine.h"
#include "write/gather.h"
#include "write/parallel.h"
#include "write/partition_files.h"
#include "write/sort.h"

namespace timelake::write {
namespace {

constexpr int kPartitionsAtOnce = 8;
// Below so many rows a thread costs more than it saves.
constexpr int64_t kFewRows = 16384;

// Threads for work on columns.
int ThreadsFor(const WriteOptions& options, int64_t rows) {
  if (rows < kFewRows) return 1;
  if (options.threads > 0) return options.threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

Status CheckCancelled(const Target& target, const WriteOptions& options) {
  if (!options.cancelled || !options.cancelled()) return Status::OK();
  return MakeError(ErrorKind::kCancelled, target.table_name + ": append cancelled");
}

Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> AlignAll(const Target& target,
                                                                  arrow::RecordBatchReader* reader,
                                                                  const WriteOptions& options,
                                                                  Written* written) {
  TL_ASSIGN_OR_RAISE(Aligner aligner, Aligner::Make(target, *reader->schema(), options));
  std::vector<std::shared_ptr<arrow::RecordBatch>> aligned;
  while (true) {
    TL_RETURN_NOT_OK(CheckCancelled(target, options));
    std::shared_ptr<arrow::RecordBatch> batch;
    TL_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) break;
    TL_ASSIGN_OR_RAISE(batch, aligner.Align(*batch));
    if (batch->num_rows() > 0) aligned.push_back(std::move(batch));
  }
  written->rows_in = aligner.rows_in();
  written->skipped = aligner.skipped();
  return aligned;
}

Result<std::shared_ptr<arrow::RecordBatch>> TakeNewest(const Target& target, const Rows& rows,
                                                       const std::vector<uint32_t>& newest) {
  const int64_t count = static_cast<int64_t>(newest.size());
  arrow::ArrayVector columns;
  for (const auto& column : rows.columns) {
    TL_ASSIGN_OR_RAISE(columns.emplace_back(),
                       GatherColumn(column, {&newest, 0, count, false}, false));
  }
  return arrow::RecordBatch::Make(iceberg::ToArrow(target.schema), count, std::move(columns));
}

// Writes all partitions; `files` has what was finished, also after an error.
Status WritePartitions(const table::Env& env, const Target& target, const Rows& rows,
                       const Arrangement& arrangement, const WriteOptions& options,
                       std::vector<StoredFile>* files) {
  const int threads = ThreadsFor(options, rows.count);
  const int partitions = static_cast<int>(arrangement.partitions.size());
  PartitionWriter::Plan plan{&env, &target, &rows, &arrangement, options.cancelled};
  plan.now_ms = env.clock->NowMicros() / 1000;
  // Fewer partitions than threads: the columns of each are encoded at once. Threads of our own that
  // wait for a pool of our own cannot block each other.
  std::shared_ptr<arrow::internal::ThreadPool> pool;
  if (partitions < threads) {
    TL_ASSIGN_OR_RAISE(pool, arrow::internal::ThreadPool::Make(threads));
    plan.threads = threads;
    plan.executor = pool.get();
  }
  TL_ASSIGN_OR_RAISE(const PartitionWriter writer, PartitionWriter::Make(std::move(plan)));
  // Drawn here, in order: file names do not depend on which thread comes first.
  std::vector<uint64_t> seeds(arrangement.partitions.size());
  for (uint64_t& seed : seeds) seed = env.random->Next64();
  std::vector<std::vector<StoredFile>> by_partition(seeds.size());
  // Stores answer slowly, so partitions go at once however small they are; not where a single
  // thread was asked for, for the sake of the simulation.
  const int at_once = options.threads == 1 ? 1 : kPartitionsAtOnce;
  Status status = ParallelFor(partitions, at_once, [&](int i) {
    return writer.Write(static_cast<size_t>(i), seeds[i], &by_partition[i]);
  });
  for (auto& list : by_partition) {
    std::move(list.begin(), list.end(), std::back_inserter(*files));
  }
  return status;
}

void TakeFiles(std::vector<StoredFile> files, Written* written) {
  std::sort(files.begin(), files.end(), [](const StoredFile& a, const StoredFile& b) {
    return a.file.file_path < b.file.file_path;
  });
  for (StoredFile& stored : files) {
    written->rows += stored.file.record_count;
    written->bytes += stored.file.file_size_in_bytes;
    written->keys.push_back(std::move(stored.key));
    written->files.push_back(std::move(stored.file));
  }
}

}  // namespace

Result<Written> WriteData(const table::Env& env, const Target& target,
                          arrow::RecordBatchReader* reader, const WriteOptions& options) {
  Written written;
  TL_ASSIGN_OR_RAISE(auto batches, AlignAll(target, reader, options, &written));
  if (batches.empty()) {
    if (target.contract.is_time_series()) {
      TL_ASSIGN_OR_RAISE(written.newest,
                         arrow::RecordBatch::MakeEmpty(iceberg::ToArrow(target.schema)));
    }
    return written;
  }
  TL_ASSIGN_OR_RAISE(const Rows rows,
                     Combine(target, std::move(batches), ThreadsFor(options, written.rows_in)));
  TL_RETURN_NOT_OK(CheckCancelled(target, options));
  TL_ASSIGN_OR_RAISE(const Arrangement arrangement, ArrangeRows(target, rows));
  written.duplicates = arrangement.duplicates;
  if (target.contract.is_time_series()) {
    TL_ASSIGN_OR_RAISE(written.newest, TakeNewest(target, rows, arrangement.newest));
  }
  std::vector<StoredFile> files;
  Status status = WritePartitions(env, target, rows, arrangement, options, &files);
  if (!status.ok()) {
    std::vector<std::string> keys;
    for (const StoredFile& stored : files) keys.push_back(stored.key);
    // Best effort: what stays behind is an orphan that maintenance removes.
    if (Status left = env.store->DeleteAll(keys); !left.ok()) {
      env.Log(LogLevel::kWarning,
              target.table_name + ": data files of a failed append are left: " + MessageOf(left));
    }
    return WithContext(status, "table " + target.table_name + ": writing data files");
  }
  TakeFiles(std::move(files), &written);
  return written;
}

}  // namespace timelake::write

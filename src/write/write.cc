#include "write/write.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <arrow/record_batch.h>

#include "base/parallel.h"
#include "iceberg/arrow_schema.h"
#include "write/align.h"
#include "write/bounded_append.h"
#include "write/coarse.h"
#include "write/combine.h"
#include "write/held_rows.h"
#include "write/newest.h"
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
  return MachineThreads();
}

Status CheckCancelled(const Target& target, const WriteOptions& options) {
  if (!options.cancelled || !options.cancelled()) return Status::OK();
  return MakeError(ErrorKind::kCancelled, target.table_name + ": append cancelled");
}

Status Writing(const Target& target, const Status& status) {
  return status.ok() ? status
                     : WithContext(status, "table " + target.table_name + ": writing data files");
}

// Reads, aligns and hands on: all rows at once if they fit into memory, else part by part.
class Appender {
 public:
  // Finished files are in `files` once this is gone, also after an error.
  Appender(const table::Env& env, const Target& target, const WriteOptions& options,
           std::vector<StoredFile>* files)
      : env_(env),
        target_(target),
        options_(options),
        files_(files),
        memory_(PlanMemory(target.settings.write_memory_bytes)),
        held_(memory_.held, KeyColumns(target)) {}

  Status Run(arrow::RecordBatchReader* reader);

  Written written;  // but for the files

 private:
  Status ReadAll(arrow::RecordBatchReader* reader);
  Status Take(Aligner* aligner, const std::shared_ptr<arrow::RecordBatch>& batch);
  Status AddPart(bool last);
  Status WriteAtOnce();

  const table::Env& env_;
  const Target& target_;
  const WriteOptions& options_;
  std::vector<StoredFile>* files_;
  const MemoryPlan memory_;
  HeldRows held_;
  std::unique_ptr<BoundedAppend> bounded_;  // once there was too much for memory
};

Status Appender::AddPart(bool last) {
  auto carried = bounded_->Add(held_.Take(), last);
  if (!carried.ok()) return Writing(target_, carried.status());
  for (auto& batch : *carried) held_.Add(std::move(batch));
  return Status::OK();
}

Status Appender::Take(Aligner* aligner, const std::shared_ptr<arrow::RecordBatch>& batch) {
  for (int64_t begin = 0; begin < batch->num_rows();) {
    TL_RETURN_NOT_OK(CheckCancelled(target_, options_));
    if (held_.full()) {
      if (!bounded_) {
        bounded_ = std::make_unique<BoundedAppend>(&env_, &target_, &options_,
                                                   ThreadsFor(options_, held_.rows()), files_);
      }
      TL_RETURN_NOT_OK(AddPart(/*last=*/false));
    }
    const auto rest = batch->Slice(begin);
    const int64_t rows = held_.FittingRows(*rest);
    TL_ASSIGN_OR_RAISE(auto aligned, aligner->Align(*rest->Slice(0, rows)));
    if (aligned->num_rows() > 0) held_.Add(std::move(aligned));
    begin += rows;
  }
  return Status::OK();
}

Status Appender::ReadAll(arrow::RecordBatchReader* reader) {
  WriteOptions options = options_;
  options.threads = ThreadsFor(options_, kFewRows);
  TL_ASSIGN_OR_RAISE(Aligner aligner, Aligner::Make(target_, *reader->schema(), options));
  while (true) {
    TL_RETURN_NOT_OK(CheckCancelled(target_, options_));
    std::shared_ptr<arrow::RecordBatch> batch;
    TL_RETURN_NOT_OK(reader->ReadNext(&batch));
    if (batch == nullptr) break;
    TL_RETURN_NOT_OK(Take(&aligner, batch));
  }
  written.rows_in = aligner.rows_in();
  written.skipped = aligner.skipped();
  return Status::OK();
}

Status Appender::WriteAtOnce() {
  const int threads = ThreadsFor(options_, held_.rows());
  TL_ASSIGN_OR_RAISE(const Rows rows, Combine(target_, held_.Take(), threads));
  TL_RETURN_NOT_OK(CheckCancelled(target_, options_));
  TL_ASSIGN_OR_RAISE(Arrangement arrangement, ArrangeRows(target_, rows));
  TL_ASSIGN_OR_RAISE(auto coarse, WithoutBuckets(target_, options_, rows, arrangement));
  if (coarse) arrangement = std::move(coarse->arrangement);
  const Target& target = coarse ? *coarse->target : target_;
  written.spec_id = target.spec.spec_id;
  written.duplicates = arrangement.duplicates;
  if (target_.contract.is_time_series()) {
    TL_ASSIGN_OR_RAISE(written.newest, TakeRows(target_, rows, arrangement.newest));
  }
  TL_ASSIGN_OR_RAISE(FilePlan plan, FilePlan::Make(env_, target, arrangement.sorted));
  plan.cancelled = options_.cancelled;
  plan.group_bytes = 2 * memory_.group;
  WarnOfFanOut(env_, target_, arrangement.partitions.size());
  std::vector<PartitionJob> jobs;
  std::vector<std::vector<StoredFile>> by_partition(arrangement.partitions.size());
  // Seeds are drawn here, in order: file names do not depend on which thread comes first.
  for (size_t i = 0; i < by_partition.size(); ++i) {
    jobs.push_back({&arrangement.partitions[i], env_.random->Next64(), &by_partition[i]});
  }
  // Stores answer slowly, so partitions go at once however small they are; not where a single
  // thread was asked for, for the sake of the simulation.
  const int at_once = options_.threads == 1 ? 1 : kPartitionsAtOnce;
  const auto write = [&] {
    return WritePartitions(plan, rows, arrangement, jobs, threads, at_once);
  };
  Status status;
  if (options_.on_newest && written.newest != nullptr) {
    status = ParallelFor(2, at_once == 1 ? 1 : 2, [&](int i) {
      if (i == 0) return write();
      options_.on_newest(written.newest);
      return Status::OK();
    });
  } else {
    status = write();
  }
  for (auto& list : by_partition) std::move(list.begin(), list.end(), std::back_inserter(*files_));
  return Writing(target_, status);
}

Status Appender::Run(arrow::RecordBatchReader* reader) {
  written.spec_id = target_.spec.spec_id;
  TL_RETURN_NOT_OK(ReadAll(reader));
  if (!bounded_) {
    if (!held_.empty()) return WriteAtOnce();
    if (!target_.contract.is_time_series()) return Status::OK();
    TL_ASSIGN_OR_RAISE(written.newest,
                       arrow::RecordBatch::MakeEmpty(iceberg::ToArrow(target_.schema)));
    return Status::OK();
  }
  if (!held_.empty()) TL_RETURN_NOT_OK(AddPart(/*last=*/true));
  TL_RETURN_NOT_OK(Writing(target_, bounded_->Finish()));
  written.spec_id = bounded_->spec_id();
  written.duplicates = bounded_->duplicates();
  if (target_.contract.is_time_series()) {
    TL_ASSIGN_OR_RAISE(written.newest, bounded_->Newest());
  }
  bounded_.reset();
  return Status::OK();
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
  std::vector<StoredFile> files;
  Written written;
  Status status;
  {
    Appender appender(env, target, options, &files);
    status = appender.Run(reader);
    written = std::move(appender.written);
  }
  if (!status.ok()) {
    std::vector<std::string> keys;
    for (const StoredFile& stored : files) keys.push_back(stored.key);
    // Best effort: what stays behind is an orphan that maintenance removes.
    if (Status left = env.store->DeleteAll(keys); !left.ok()) {
      env.Log(LogLevel::kWarning,
              target.table_name + ": data files of a failed append are left: " + MessageOf(left));
    }
    return status;
  }
  TakeFiles(std::move(files), &written);
  return written;
}

}  // namespace timelake::write

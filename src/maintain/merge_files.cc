#include "maintain/merge_files.h"

#include <algorithm>
#include <string>
#include <utility>

#include <arrow/util/thread_pool.h>

#include "maintain/in_order.h"
#include "scan/file_rows.h"
#include "write/bounded_append.h"
#include "write/held_rows.h"
#include "write/newest.h"
#include "write/parallel.h"
#include "write/run_merger.h"
#include "write/sort.h"

namespace timelake::maintain {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

// Files that are merged as they stream by; each holds decoded pages.
constexpr size_t kMostOpenFiles = 64;
// Rows that such a file has in memory: a page, and the rest of a batch.
constexpr int64_t kOpenRows = 40'000;
// Small files that are read at once: enough to hide an object store's latency.
constexpr size_t kFilesAtOnce = 8;

// Of a row in memory, about: text counts as a code and a share of its dictionary.
int64_t RowBytes(const iceberg::Schema& schema) {
  int64_t bytes = 0;
  for (const iceberg::Field& field : schema.fields) {
    switch (field.type.id) {
      case iceberg::TypeId::kBoolean: bytes += 1; break;
      case iceberg::TypeId::kInt:
      case iceberg::TypeId::kFloat:
      case iceberg::TypeId::kDate: bytes += 4; break;
      case iceberg::TypeId::kLong:
      case iceberg::TypeId::kDouble:
      case iceberg::TypeId::kTime:
      case iceberg::TypeId::kTimestamp:
      case iceberg::TypeId::kTimestamptz: bytes += 8; break;
      case iceberg::TypeId::kDecimal:
      case iceberg::TypeId::kUuid:
      case iceberg::TypeId::kString: bytes += 16; break;
      default: bytes += 64; break;
    }
  }
  return bytes;
}

class Merge {
 public:
  Merge(const table::Env& env, const iceberg::TableMetadata& metadata, const write::Target& target,
        const MergeRequest& request)
      : env_(env),
        metadata_(metadata),
        target_(target),
        request_(request),
        memory_(write::PlanMemory(target.settings.write_memory_bytes)) {}

  Status Run() {
    if (!MayStream()) return SortAll();
    bool in_order = true;
    const Status streamed = Stream(&in_order);
    if (in_order) return streamed;
    env_.Log(LogLevel::kWarning,
             target_.table_name + ": " + MessageOf(streamed) + "; its rows are sorted again");
    DeleteAll();
    return SortAll();
  }

  void DeleteAll() {
    std::vector<std::string> keys;
    for (const auto& stored : merged.files) keys.push_back(stored.key);
    merged = {};
    read_ = 0;
    if (Status left = env_.store->DeleteAll(keys); !left.ok()) {
      env_.Log(LogLevel::kWarning,
               target_.table_name + ": files of a failed merge are left: " + MessageOf(left));
    }
  }

  // No row may get lost on the way.
  Status Check() {
    int64_t expected = 0;
    for (const scan::ScanFile* file : request_.files) expected += file->data->record_count;
    for (const auto& stored : merged.files) merged.rows += stored.file.record_count;
    merged.deleted = expected - read_;
    if (merged.deleted < 0 || merged.rows + merged.duplicates != read_) {
      return InternalError("table {}: {} rows of {} files became {} rows, {} of them replaced",
                           target_.table_name, read_, request_.files.size(), merged.rows,
                           merged.duplicates);
    }
    return Status::OK();
  }

  MergedFiles merged;

 private:
  bool MayStream() const {
    if (!request_.sorted || request_.way == MergeWay::kSort) return false;
    if (request_.way == MergeWay::kStream) return true;
    if (request_.files.size() > kMostOpenFiles) return false;
    int64_t rows = 0;
    for (const scan::ScanFile* file : request_.files) rows += file->data->record_count;
    const int64_t row_bytes = RowBytes(target_.schema);
    if (rows * row_bytes <= memory_.held / 2) return false;  // faster at once
    const auto open = static_cast<int64_t>(request_.files.size());
    return open * kOpenRows * row_bytes <= 2 * memory_.merge;
  }

  Status CheckCancelled() const {
    if (!request_.cancelled || !request_.cancelled()) return Status::OK();
    return MakeError(ErrorKind::kCancelled, target_.table_name + ": compaction cancelled");
  }

  std::shared_ptr<arrow::RecordBatchReader> Open(const scan::ScanFile& file, bool fine) const {
    return scan::ReadFileRows(&env_, &metadata_, file, {target_.schema, fine});
  }

  Status Stream(bool* in_order) {
    std::vector<std::shared_ptr<arrow::RecordBatchReader>> runs;
    const auto order = write::OrderColumns(target_);
    for (const scan::ScanFile* file : request_.files) {
      runs.push_back(std::make_shared<InOrder>(Open(*file, true), order, file->data->file_path,
                                               &read_, in_order));
    }
    // The partition is known: whatever its spec, rows need not be asked.
    write::Target unpartitioned = target_;
    unpartitioned.spec.fields.clear();
    const int threads = write::MachineThreads();
    write::RunMerger merger(&unpartitioned, std::move(runs), memory_.merge, threads);
    TL_ASSIGN_OR_RAISE(write::FilePlan plan,
                       write::FilePlan::Make(env_, target_, write::FollowsOrder(target_)));
    plan.cancelled = request_.cancelled;
    plan.group_bytes = memory_.group;
    plan.even_groups = true;
    TL_ASSIGN_OR_RAISE(auto files,
                       write::RollingFiles::Make(&plan, request_.partition, env_.random->Next64(),
                                                 threads, &merged.files));
    write::NewestRows newest(&unpartitioned);
    while (true) {
      TL_RETURN_NOT_OK(CheckCancelled());
      TL_ASSIGN_OR_RAISE(const auto chunk, merger.Next());
      if (!chunk) break;
      const write::Arrangement& arrangement = chunk->arrangement;
      const auto end = static_cast<int64_t>(arrangement.order.size());
      TL_RETURN_NOT_OK(files.Add(chunk->rows, arrangement.order, 0, end, arrangement.in_place));
      if (!target_.contract.is_time_series()) continue;
      TL_ASSIGN_OR_RAISE(auto rows,
                         write::TakeRows(unpartitioned, chunk->rows, arrangement.newest));
      TL_RETURN_NOT_OK(newest.Add(std::move(rows)));
    }
    TL_RETURN_NOT_OK(files.Finish());
    merged.duplicates = merger.duplicates();
    if (target_.contract.is_time_series()) {
      TL_ASSIGN_OR_RAISE(merged.newest, newest.Finish());
    }
    return Status::OK();
  }

  Status Hold(const Batch& batch, write::BoundedAppend* append, write::HeldRows* held) const {
    for (int64_t begin = 0; begin < batch->num_rows();) {
      if (held->full()) {
        TL_ASSIGN_OR_RAISE(auto carried, append->Add(held->Take(), /*last=*/false));
        for (auto& one : carried) held->Add(std::move(one));
      }
      const auto rest = batch->Slice(begin);
      const int64_t rows = held->FittingRows(*rest);
      held->Add(rest->Slice(0, rows));
      begin += rows;
    }
    return Status::OK();
  }

  // Files that are read at once: few rows, so that they may wait in memory.
  size_t EndOfSmall(size_t begin) const {
    const int64_t row_bytes = RowBytes(target_.schema);
    int64_t bytes = 0;
    size_t end = begin;
    while (end < request_.files.size() && end - begin < kFilesAtOnce) {
      bytes += request_.files[end]->data->record_count * row_bytes;
      if (bytes > memory_.held / 4) break;
      ++end;
    }
    return std::max(end, begin + 1);
  }

  Status HoldOne(const scan::ScanFile& file, write::BoundedAppend* append, write::HeldRows* held) {
    const auto reader = Open(file, false);
    Batch batch;
    while (true) {
      TL_RETURN_NOT_OK(CheckCancelled());
      TL_RETURN_NOT_OK(reader->ReadNext(&batch));
      if (batch == nullptr) return Status::OK();
      read_ += batch->num_rows();
      TL_RETURN_NOT_OK(Hold(batch, append, held));
    }
  }

  Status HoldMany(size_t begin, size_t end, write::BoundedAppend* append, write::HeldRows* held) {
    const auto count = static_cast<int>(end - begin);
    std::vector<std::vector<Batch>> files(end - begin);
    TL_RETURN_NOT_OK(write::ParallelFor(count, count, [&](int i) -> Status {
      const auto at = static_cast<size_t>(i);
      TL_RETURN_NOT_OK(CheckCancelled());
      TL_ASSIGN_OR_RAISE(files[at], Open(*request_.files[begin + at], false)->ToRecordBatches());
      return Status::OK();
    }));
    for (const auto& batches : files) {
      for (const Batch& batch : batches) {
        read_ += batch->num_rows();
        TL_RETURN_NOT_OK(Hold(batch, append, held));
      }
    }
    return Status::OK();
  }

  Status SortAll() {
    write::WriteOptions options;
    options.cancelled = request_.cancelled;
    const int threads = write::MachineThreads();
    write::BoundedAppend append(&env_, &target_, &options, threads, &merged.files);
    write::HeldRows held(memory_.held, write::KeyColumns(target_));
    const int64_t before = read_;
    for (size_t begin = 0; begin < request_.files.size();) {
      const size_t end = EndOfSmall(begin);
      TL_RETURN_NOT_OK(end - begin == 1 ? HoldOne(*request_.files[begin], &append, &held)
                                        : HoldMany(begin, end, &append, &held));
      begin = end;
    }
    if (read_ > before) {
      TL_RETURN_NOT_OK(append.Add(held.Take(), /*last=*/true).status());
      TL_RETURN_NOT_OK(append.Finish());
    }
    merged.duplicates = append.duplicates();
    if (target_.contract.is_time_series()) {
      TL_ASSIGN_OR_RAISE(merged.newest, append.Newest());
    }
    return Status::OK();
  }

  const table::Env& env_;
  const iceberg::TableMetadata& metadata_;
  const write::Target& target_;
  const MergeRequest& request_;
  const write::MemoryPlan memory_;
  int64_t read_ = 0;
};

}  // namespace

Result<MergedFiles> MergeFiles(const table::Env& env, const iceberg::TableMetadata& metadata,
                               const write::Target& target, const MergeRequest& request) {
  Merge merge(env, metadata, target, request);
  Status done = merge.Run();
  if (done.ok()) done = merge.Check();
  if (!done.ok()) {
    merge.DeleteAll();
    return done;
  }
  return std::move(merge.merged);
}

}  // namespace timelake::maintain

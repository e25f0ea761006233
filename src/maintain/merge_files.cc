#include "maintain/merge_files.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/memory.h"
#include "base/parallel.h"
#include "maintain/in_order.h"
#include "maintain/merge_kept.h"
#include "maintain/merge_output.h"
#include "maintain/open_rows.h"
#include "maintain/series_ranges.h"
#include "table/recent_rows.h"
#include "write/bounded_append.h"
#include "write/held_rows.h"
#include "write/newest.h"
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
// Ranges of series that are merged one after the other take less memory, and each a little time:
// files are opened again, and pages at the ends unpacked twice. Of few rows it is mostly the same
// that a range takes, however few they are.
constexpr int64_t kLeastRangeBytes = 14 << 20;
constexpr int64_t kFewRanges = 3;
constexpr int64_t kSmallBytes = 128 << 20;
constexpr int64_t kRangesOfSmall = 4;
constexpr int64_t kRangeBytes = 160 << 20;
constexpr int64_t kMostRanges = 16;
constexpr int64_t kManyRows = 1 << 18;

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

// Whether rows of the file may be left out.
bool LeavesRowsOut(const scan::ScanFile* file) {
  return !file->position_deletes.empty() || !file->equality_deletes.empty() ||
         file->superseded != nullptr;
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
    bool in_order = true;
    const Status done = MergeSorted(&in_order);
    if (in_order) return done;
    env_.Log(LogLevel::kWarning,
             target_.table_name + ": " + MessageOf(done) + "; its rows are sorted again");
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
    if (merged.deleted < 0 || (merged.deleted > 0 && !AnyLeavesRowsOut()) ||
        merged.rows + merged.duplicates != read_) {
      return InternalError("table {}: {} rows of {} files became {} rows, {} of them replaced",
                           target_.table_name, read_, request_.files.size(), merged.rows,
                           merged.duplicates);
    }
    return Status::OK();
  }

  // Whether it leaves memory behind that is worth giving back.
  bool is_large() const { return read_ >= kManyRows; }

  MergedFiles merged;

 private:
  Status MergeSorted(bool* in_order) {
    if (request_.way == MergeWay::kAsItSuits && !AnyLeavesRowsOut()) {
      const int64_t most_bytes = memory_.held / 2;
      const int64_t most_rows = most_bytes / RowBytes(target_.schema);
      MergeOutput output(env_, target_, request_, memory_.group);
      TL_ASSIGN_OR_RAISE(const bool done, MergeKept(env_, metadata_, target_, request_, most_rows,
                                                    most_bytes, &output, &merged.files, &read_));
      merged.newest = output.newest();
      if (done) return Status::OK();
    }
    if (MayStream()) return Stream(in_order);
    if (const int count = CountRanges(); count > 1) {
      TL_ASSIGN_OR_RAISE(const SeriesRanges ranges,
                         FindSeriesRanges(env_, metadata_, target_, request_.files, count));
      // One series may have more rows than fit, or all of them.
      if (FitInMemory(ranges)) return SortRanges(ranges, in_order);
    }
    return SortAll();
  }

  bool MayStream() const {
    if (!request_.sorted || request_.way == MergeWay::kSort) return false;
    if (request_.way != MergeWay::kAsItSuits) return request_.way == MergeWay::kStream;
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
    return OpenRows(&env_, &metadata_, file, {target_.schema, fine});
  }

  // How many ranges of series to merge one after the other. One: at once is faster.
  int CountRanges() const {
    if (!request_.sorted || request_.way == MergeWay::kSort) return 1;
    if (write::KeyColumns(target_).empty()) return 1;
    if (AnyLeavesRowsOut()) return 1;
    int64_t rows = 0;
    for (const scan::ScanFile* file : request_.files) rows += file->data->record_count;
    if (request_.way == MergeWay::kRanges) return static_cast<int>(kFewRanges);
    const int64_t bytes = rows * RowBytes(target_.schema);
    const int64_t fitting = bytes / std::min(kRangeBytes, memory_.held / 3) + 1;
    const int64_t few =
        std::min(bytes / kLeastRangeBytes + 1, bytes < kSmallBytes ? kRangesOfSmall : kFewRanges);
    return fitting > kMostRanges ? 1 : static_cast<int>(std::max(few, fitting));
  }

  bool FitInMemory(const SeriesRanges& ranges) const {
    const int64_t row_bytes = RowBytes(target_.schema);
    for (size_t range = 0; range < ranges.count(); ++range) {
      if (ranges.RowsOf(range) * row_bytes > memory_.held / 2) return false;
    }
    return true;
  }

  Status End(MergeOutput* output) {
    TL_RETURN_NOT_OK(output->Finish());
    merged.newest = output->newest();
    return Status::OK();
  }

  bool AnyLeavesRowsOut() const {
    return std::any_of(request_.files.begin(), request_.files.end(), LeavesRowsOut);
  }

  // One range of series after the other, each sorted in memory.
  Status SortRanges(const SeriesRanges& ranges, bool* in_order) {
    MergeOutput output(env_, target_, request_, memory_.group);
    const write::Target& unpartitioned = output.unpartitioned();
    TL_RETURN_NOT_OK(output.Begin(&merged.files));
    for (size_t range = 0; range < ranges.count(); ++range) {
      TL_RETURN_NOT_OK(CheckCancelled());
      TL_ASSIGN_OR_RAISE(auto batches, ReadRange(ranges, range));
      if (batches.empty()) continue;
      TL_ASSIGN_OR_RAISE(const auto rows,
                         write::Combine(unpartitioned, std::move(batches), MachineThreads()));
      TL_ASSIGN_OR_RAISE(const auto arrangement, write::ArrangeRows(unpartitioned, rows));
      TL_ASSIGN_OR_RAISE(*in_order, InRange(ranges, range, KeysOf(rows), arrangement.order.front(),
                                            arrangement.order.back()));
      if (!*in_order) {
        return Corrupt(
            "a file says that its rows are sorted by the table's order, but they are not");
      }
      merged.duplicates += arrangement.duplicates;
      TL_RETURN_NOT_OK(output.Add(rows, arrangement));
    }
    return End(&output);
  }

  arrow::ArrayVector KeysOf(const write::Rows& rows) const {
    const std::vector<int> keys = write::KeyColumns(target_);
    arrow::ArrayVector columns;
    for (const write::OrderColumn& column : write::OrderColumns(target_)) {
      if (std::find(keys.begin(), keys.end(), column.column) == keys.end()) continue;
      columns.push_back(rows.columns[static_cast<size_t>(column.column)]);
    }
    return columns;
  }

  Result<std::vector<Batch>> ReadRange(const SeriesRanges& ranges, size_t range) {
    std::vector<std::vector<Batch>> files(request_.files.size());
    const auto read = [&](size_t at) -> Status {
      const table::RowRange rows{ranges.begin[at][range], ranges.begin[at][range + 1]};
      if (rows.begin == rows.end) return Status::OK();
      TL_RETURN_NOT_OK(CheckCancelled());
      const auto reader = OpenRows(&env_, &metadata_, *request_.files[at],
                                   {.schema = target_.schema, .rows = rows});
      TL_ASSIGN_OR_RAISE(files[at], reader->ToRecordBatches());
      return Status::OK();
    };
    TL_RETURN_NOT_OK(
        RunConcurrently(files.size(), kFilesAtOnce, store::IsRemote(*env_.store), read));
    std::vector<Batch> batches;
    for (auto& file : files) {
      for (Batch& batch : file) {
        read_ += batch->num_rows();
        if (batch->num_rows() > 0) batches.push_back(std::move(batch));
      }
    }
    return batches;
  }

  Status Stream(bool* in_order) {
    std::vector<std::shared_ptr<arrow::RecordBatchReader>> runs;
    const auto order = write::OrderColumns(target_);
    for (const scan::ScanFile* file : request_.files) {
      runs.push_back(std::make_shared<InOrder>(Open(*file, true), order, file->data->file_path,
                                               &read_, in_order));
    }
    MergeOutput output(env_, target_, request_, memory_.group);
    write::RunMerger merger(&output.unpartitioned(), std::move(runs), memory_.merge,
                            MachineThreads());
    TL_RETURN_NOT_OK(output.Begin(&merged.files));
    while (true) {
      TL_RETURN_NOT_OK(CheckCancelled());
      TL_ASSIGN_OR_RAISE(const auto chunk, merger.Next());
      if (!chunk) break;
      TL_RETURN_NOT_OK(output.Add(chunk->rows, chunk->arrangement));
    }
    TL_RETURN_NOT_OK(End(&output));
    merged.duplicates = merger.duplicates();
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
    std::vector<std::vector<Batch>> files(end - begin);
    const auto read = [&](size_t at) -> Status {
      TL_RETURN_NOT_OK(CheckCancelled());
      TL_ASSIGN_OR_RAISE(files[at], Open(*request_.files[begin + at], false)->ToRecordBatches());
      return Status::OK();
    };
    TL_RETURN_NOT_OK(
        RunConcurrently(files.size(), files.size(), store::IsRemote(*env_.store), read));
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
    const int threads = MachineThreads();
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
  const UsePool use(PoolForLargeWork());
  Merge merge(env, metadata, target, request);
  Status done = merge.Run();
  if (merge.is_large()) PoolForLargeWork()->ReleaseUnused();
  if (done.ok()) done = merge.Check();
  for (const scan::ScanFile* file : request.files) table::ForgetRecent(env, file->data->file_path);
  if (!done.ok()) {
    merge.DeleteAll();
    return done;
  }
  return std::move(merge.merged);
}

}  // namespace timelake::maintain

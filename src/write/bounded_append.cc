#include "write/bounded_append.h"

#include <algorithm>
#include <utility>

#include "base/memory.h"
#include "base/parallel.h"
#include "iceberg/arrow_schema.h"
#include "write/coarse.h"
#include "write/gather.h"
#include "write/read_back.h"

namespace timelake::write {
namespace {

// Runs merged at once; with more of them groups of so many are merged into longer runs first.
constexpr size_t kFanIn = 64;
constexpr int64_t kLeastBatchRows = 16;
// How much more than its rows a chunk of a merge takes where nearly all are of different series.
constexpr int64_t kManySeries = 4;
constexpr int64_t kMostBatchRows = 65536;
// Fewer leave little behind.
constexpr int64_t kManyRows = 1 << 19;

std::shared_ptr<arrow::Schema> SchemaOfRows(const Target& target, const Rows& rows) {
  arrow::FieldVector fields = iceberg::ToArrow(target.schema)->fields();
  for (size_t i = 0; i < fields.size(); ++i) fields[i] = fields[i]->WithType(rows.type(i));
  return arrow::schema(std::move(fields));
}

// Rows as batches of one schema, small enough for all runs to have one in memory.
class SlicedRows {
 public:
  SlicedRows(std::shared_ptr<arrow::Schema> schema, const Rows& rows,
             const std::vector<uint32_t>& order, int64_t merge_bytes)
      : schema_(std::move(schema)), rows_(rows), order_(order) {
    const double fitting =
        static_cast<double>(merge_bytes) / static_cast<double>(kFanIn) / (1 + rows.row_bytes);
    batch_rows_ = std::clamp(static_cast<int64_t>(fitting), kLeastBatchRows, kMostBatchRows);
  }

  // The next of the rows order[begin, end); null when there are none. `begin` moves on.
  Result<std::shared_ptr<arrow::RecordBatch>> Next(int64_t* begin, int64_t end) const {
    if (*begin == end) return nullptr;
    const RowSlice slice{&order_, *begin, std::min(end, *begin + batch_rows_), false};
    *begin = slice.end;
    TL_ASSIGN_OR_RAISE(auto columns, GatherAll(rows_, slice, [&](size_t i) {
                         const auto& type = schema_->field(static_cast<int>(i))->type();
                         return type->id() == arrow::Type::DICTIONARY;
                       }));
    return arrow::RecordBatch::Make(schema_, slice.end - slice.begin, std::move(columns));
  }

 private:
  std::shared_ptr<arrow::Schema> schema_;
  const Rows& rows_;
  const std::vector<uint32_t>& order_;
  int64_t batch_rows_;
};

}  // namespace

// What is known of one partition.
struct BoundedAppend::Lane {
  std::vector<iceberg::Value> partition;
  std::vector<StoredFile> files;             // of rows that went straight, in order
  std::unique_ptr<RollingFiles> open;        // goes on with the next part
  std::shared_ptr<arrow::RecordBatch> last;  // the last row in `files` or `open`
  std::vector<SpilledRun> runs;              // in the order of arrival, after those rows
};

BoundedAppend::BoundedAppend(const table::Env* env, const Target* target,
                             const WriteOptions* options, int threads,
                             std::vector<StoredFile>* files)
    : env_(env),
      target_(target),
      options_(options),
      threads_(threads),
      files_(files),
      memory_(PlanMemory(target->settings.write_memory_bytes)),
      order_(OrderColumns(*target)),
      distinct_(order_),
      newest_(target) {
  if (target->contract.dedup && target->contract.ingest_time_id) distinct_.pop_back();
}

BoundedAppend::~BoundedAppend() {
  // After an error, too: whoever has the list deletes them.
  for (auto& [partition, lane] : lanes_) {
    std::move(lane->files.begin(), lane->files.end(), std::back_inserter(*files_));
  }
}

Status BoundedAppend::CheckCancelled() const {
  if (!options_->cancelled || !options_->cancelled()) return Status::OK();
  return MakeError(ErrorKind::kCancelled, target_->table_name + ": append cancelled");
}

Status BoundedAppend::Prepare(bool sorted) {
  if (std::exchange(prepared_, true)) return Status::OK();
  TL_ASSIGN_OR_RAISE(plan_, FilePlan::Make(*env_, *target_, sorted));
  plan_.cancelled = options_->cancelled;
  plan_.group_bytes = memory_.group;
  plan_.even_groups = true;
  return Status::OK();
}

BoundedAppend::Lane* BoundedAppend::LaneOf(const std::vector<iceberg::Value>& partition) {
  auto& lane = lanes_[partition];
  if (!lane) {
    lane = std::make_unique<Lane>();
    lane->partition = partition;
  }
  return lane.get();
}

// Whether a row belongs after all that went straight into files of its partition.
Result<bool> BoundedAppend::Follows(const Lane& lane, const Rows& rows, uint32_t row) const {
  if (!lane.last) return true;
  const bool dedup = target_->contract.dedup;
  TL_ASSIGN_OR_RAISE(const auto comparer,
                     RowComparer::Make(lane.last->columns(), rows.columns, distinct_));
  const int order = comparer.Compare(0, row);
  return dedup ? order < 0 : order <= 0;
}

Result<BoundedAppend::Way> BoundedAppend::WayOf(const Lane& lane, const Rows& rows,
                                                const Arrangement& arrangement,
                                                const PartitionRun& run, bool last) const {
  if (!lane.runs.empty()) return Way::kSpill;
  const auto& order = arrangement.order;
  TL_ASSIGN_OR_RAISE(const bool follows,
                     Follows(lane, rows, order[static_cast<size_t>(run.begin)]));
  if (!follows) return Way::kSpill;
  if (last) return Way::kStraight;
  if (std::is_sorted(order.begin(), order.end())) {
    const bool goes_on = run.end == static_cast<int64_t>(order.size());
    return goes_on ? Way::kKeepOpen : Way::kStraight;
  }
  const uint32_t latest = *std::max_element(order.begin() + run.begin, order.begin() + run.end);
  return latest < rows.count / 4 * 3 ? Way::kStraight : Way::kSpill;
}

Status BoundedAppend::CloseOpenLane() {
  if (open_lane_ == nullptr) return Status::OK();
  Lane* lane = std::exchange(open_lane_, nullptr);
  const auto open = std::move(lane->open);
  return open->Finish();
}

Status BoundedAppend::AddToOpen(Lane* lane, const Rows& rows, const Arrangement& arrangement,
                                const PartitionRun& run) {
  if (!lane->open) {
    TL_ASSIGN_OR_RAISE(auto files,
                       RollingFiles::Make(&plan_, lane->partition, env_->random->Next64(), threads_,
                                          &lane->files));
    lane->open = std::make_unique<RollingFiles>(std::move(files));
  }
  open_lane_ = lane;
  return lane->open->Add(rows, arrangement.order, run.begin, run.end, arrangement.in_place);
}

Status BoundedAppend::Spill(Lane* lane, const Rows& rows, const Arrangement& arrangement,
                            const PartitionRun& run) {
  if (!spill_) {
    TL_ASSIGN_OR_RAISE(spill_, SpillFile::Create(target_->settings.temp_directory));
  }
  const auto schema = SchemaOfRows(*target_, rows);
  const SlicedRows sliced(schema, rows, arrangement.order, memory_.merge);
  int64_t begin = run.begin;
  const auto next = [&]() -> Result<std::shared_ptr<arrow::RecordBatch>> {
    TL_RETURN_NOT_OK(CheckCancelled());
    return sliced.Next(&begin, run.end);
  };
  TL_ASSIGN_OR_RAISE(lane->runs.emplace_back(), spill_->Write(schema, next, threads_ > 1));
  return Status::OK();
}

// Rows in their order; later ones of the same place still come behind them in the next part.
Result<BoundedAppend::Batches> BoundedAppend::Carry(const Rows& rows,
                                                    const std::vector<uint32_t>& order) const {
  const SlicedRows sliced(SchemaOfRows(*target_, rows), rows, order, memory_.merge);
  Batches carried;
  for (int64_t begin = 0;;) {
    TL_ASSIGN_OR_RAISE(auto batch, sliced.Next(&begin, static_cast<int64_t>(order.size())));
    if (batch == nullptr) return carried;
    carried.push_back(std::move(batch));
  }
}

Result<BoundedAppend::Batches> BoundedAppend::Write(const Rows& rows,
                                                    const Arrangement& arrangement, bool last) {
  std::vector<std::pair<Lane*, Way>> ways;
  for (const PartitionRun& run : arrangement.partitions) {
    Lane* lane = LaneOf(run.values);
    TL_ASSIGN_OR_RAISE(const Way way, WayOf(*lane, rows, arrangement, run, last));
    ways.emplace_back(lane, way);
  }
  // A file that was open goes on with the first partition of rows in order, or it is over.
  if (ways.front().first != open_lane_ || ways.front().second == Way::kSpill) {
    TL_RETURN_NOT_OK(CloseOpenLane());
  }
  std::vector<PartitionJob> jobs;
  for (size_t i = 0; i < ways.size(); ++i) {
    const auto& [lane, way] = ways[i];
    const PartitionRun& run = arrangement.partitions[i];
    const bool straight = way == Way::kStraight && !lane->open;
    if (straight) jobs.push_back({&run, env_->random->Next64(), &lane->files});
    if (way == Way::kSpill || last) continue;
    const uint32_t newest = arrangement.order[static_cast<size_t>(run.end - 1)];
    TL_ASSIGN_OR_RAISE(lane->last, TakeRows(*target_, rows, {newest}));
  }
  TL_RETURN_NOT_OK(
      WritePartitions(plan_, rows, arrangement, jobs, threads_, options_->threads == 1 ? 1 : 2));
  std::vector<uint32_t> waiting;
  for (size_t i = 0; i < ways.size(); ++i) {
    const PartitionRun& run = arrangement.partitions[i];
    if (ways[i].second != Way::kSpill) continue;
    waiting.insert(waiting.end(), arrangement.order.begin() + run.begin,
                   arrangement.order.begin() + run.end);
  }
  const bool carry = !last && 2 * static_cast<int64_t>(waiting.size()) <= rows.count;
  for (size_t i = 0; i < ways.size(); ++i) {
    const auto& [lane, way] = ways[i];
    const PartitionRun& run = arrangement.partitions[i];
    if (way == Way::kSpill && !carry) TL_RETURN_NOT_OK(Spill(lane, rows, arrangement, run));
    if (way == Way::kKeepOpen || (way == Way::kStraight && lane->open)) {
      TL_RETURN_NOT_OK(AddToOpen(lane, rows, arrangement, run));
      if (way == Way::kStraight) TL_RETURN_NOT_OK(CloseOpenLane());
    }
  }
  return carry ? Carry(rows, waiting) : Batches{};
}

Result<BoundedAppend::Batches> BoundedAppend::Add(Batches part, bool last) {
  TL_RETURN_NOT_OK(CheckCancelled());
  TL_ASSIGN_OR_RAISE(const Rows rows, Combine(*target_, std::move(part), threads_));
  // Small pieces became few large ones, for which their place is not taken again.
  if (rows.count >= kManyRows) ReturnUnusedMemory();
  TL_ASSIGN_OR_RAISE(Arrangement arrangement, ArrangeRows(*target_, rows));
  if (!prepared_) {  // the first part tells for all
    TL_ASSIGN_OR_RAISE(auto coarse, WithoutBuckets(*target_, *options_, rows, arrangement));
    if (coarse) {
      coarse_ = std::move(coarse->target);
      target_ = coarse_.get();
      arrangement = std::move(coarse->arrangement);
    }
  }
  duplicates_ += arrangement.duplicates;
  TL_RETURN_NOT_OK(Prepare(arrangement.sorted));
  if (target_->contract.is_time_series()) {
    // Keys of so many series take more memory than their rows, when runs are merged as well.
    if (2 * static_cast<int64_t>(arrangement.newest.size()) > rows.count) {
      memory_.merge = PlanMemory(target_->settings.write_memory_bytes).merge / kManySeries;
    }
    TL_ASSIGN_OR_RAISE(auto newest, TakeRows(*target_, rows, arrangement.newest));
    TL_RETURN_NOT_OK(newest_.Add(std::move(newest)));
  }
  return Write(rows, arrangement, last);
}

// --- the end ---

Result<SpilledRun> BoundedAppend::MergeToRun(Readers readers) {
  RunMerger merger(target_, std::move(readers), memory_.merge, threads_);
  std::optional<RunMerger::Chunk> chunk;
  TL_ASSIGN_OR_RAISE(chunk, merger.Next());
  if (!chunk) return SpilledRun{};
  const auto schema = SchemaOfRows(*target_, chunk->rows);
  int64_t begin = 0;
  const auto next = [&]() -> Result<std::shared_ptr<arrow::RecordBatch>> {
    while (chunk) {
      TL_RETURN_NOT_OK(CheckCancelled());
      const SlicedRows sliced(schema, chunk->rows, chunk->arrangement.order, memory_.merge);
      const auto end = static_cast<int64_t>(chunk->arrangement.order.size());
      TL_ASSIGN_OR_RAISE(auto batch, sliced.Next(&begin, end));
      if (batch != nullptr) return batch;
      begin = 0;
      chunk.reset();
      TL_ASSIGN_OR_RAISE(chunk, merger.Next());
    }
    return nullptr;
  };
  TL_ASSIGN_OR_RAISE(const SpilledRun run, spill_->Write(schema, next, threads_ > 1));
  duplicates_ += merger.duplicates();
  return run;
}

// Readers of all runs of a lane, no more than can be merged at once: groups of neighbours are made
// one run each until they are few enough.
Result<BoundedAppend::Readers> BoundedAppend::ReadersOf(const Lane& lane) {
  std::vector<SpilledRun> runs = lane.runs;
  const auto first = [&]() -> Readers {
    if (lane.files.empty()) return {};
    return {ReadFilesBack(env_, target_, lane.files)};
  };
  Readers readers = first();
  while (readers.size() + runs.size() > kFanIn) {
    std::vector<SpilledRun> longer;
    for (size_t i = 0; i < runs.size(); i += kFanIn) {
      Readers group;
      for (size_t j = i; j < std::min(runs.size(), i + kFanIn); ++j) {
        TL_ASSIGN_OR_RAISE(group.emplace_back(), spill_->Read(runs[j]));
      }
      TL_ASSIGN_OR_RAISE(longer.emplace_back(), MergeToRun(std::move(group)));
    }
    runs = std::move(longer);
  }
  for (const SpilledRun& run : runs) {
    TL_ASSIGN_OR_RAISE(readers.emplace_back(), spill_->Read(run));
  }
  return readers;
}

Status BoundedAppend::Merge(Lane* lane) {
  TL_ASSIGN_OR_RAISE(Readers readers, ReadersOf(*lane));
  const size_t replaced = lane->files.size();
  {
    RunMerger merger(target_, std::move(readers), memory_.merge, threads_);
    TL_ASSIGN_OR_RAISE(auto files,
                       RollingFiles::Make(&plan_, lane->partition, env_->random->Next64(), threads_,
                                          &lane->files));
    while (true) {
      TL_ASSIGN_OR_RAISE(const auto chunk, merger.Next());
      if (!chunk) break;
      const auto end = static_cast<int64_t>(chunk->arrangement.order.size());
      TL_RETURN_NOT_OK(
          files.Add(chunk->rows, chunk->arrangement.order, 0, end, chunk->arrangement.in_place));
    }
    TL_RETURN_NOT_OK(files.Finish());
    duplicates_ += merger.duplicates();
  }
  // The files read back are not part of the append any more.
  std::vector<std::string> keys;
  for (size_t i = 0; i < replaced; ++i) keys.push_back(lane->files[i].key);
  lane->files.erase(lane->files.begin(), lane->files.begin() + static_cast<ptrdiff_t>(replaced));
  if (Status left = env_->store->DeleteAll(keys); !left.ok()) {
    env_->Log(LogLevel::kWarning,
              target_->table_name + ": replaced data files are left: " + MessageOf(left));
  }
  return Status::OK();
}

Status BoundedAppend::Finish() {
  TL_RETURN_NOT_OK(CloseOpenLane());
  WarnOfFanOut(*env_, *target_, lanes_.size());
  for (auto& [partition, lane] : lanes_) {
    if (!lane->runs.empty()) TL_RETURN_NOT_OK(Merge(lane.get()));
  }
  if (spill_) env_->Metric("append.spilled_bytes", spill_->bytes_written());
  return Status::OK();
}

}  // namespace timelake::write

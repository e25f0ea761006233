#include "write/partition_files.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include "base/random.h"
#include "base/uuid.h"
#include "store/object_store.h"
#include "write/gather.h"
#include "write/parallel.h"

namespace timelake::write {
namespace {

constexpr int64_t kLeastGroupRows = 8192;
// Share of their size in memory that columns take in a file, until a row group tells.
constexpr double kAssumedRatio = 0.25;

std::vector<SortedBy> SortingOf(const Target& target, bool sorted) {
  std::vector<SortedBy> sorting;
  if (!sorted) return sorting;
  for (const iceberg::SortField& field : target.order.fields) {
    const auto& fields = target.schema.fields;
    const auto found = std::find_if(fields.begin(), fields.end(),
                                    [&](const auto& f) { return f.id == field.source_id; });
    sorting.push_back({static_cast<int>(found - fields.begin()),
                       field.direction == iceberg::SortDirection::kDescending,
                       field.null_order == iceberg::NullOrder::kFirst});
  }
  return sorting;
}

}  // namespace

// The file being written, and what the files of this partition have shown so far.
struct PartitionWriter::Progress {
  std::string name;  // below data/
  std::unique_ptr<DataFileWriter> writer;
  double rows = 0;          // in the file
  double flushed_rows = 0;  // of which in row groups that have left for the sink
  double file_bytes = 0;    // size of those
  double ratio = kAssumedRatio;

  // Size that the file would have with `more` rows.
  double EstimateWith(double more, double row_bytes) const {
    return file_bytes + (rows - flushed_rows + more) * row_bytes * ratio;
  }
};

Result<PartitionWriter> PartitionWriter::Make(Plan plan) {
  PartitionWriter writer(std::move(plan));
  const Target& target = *writer.plan_.target;
  TL_ASSIGN_OR_RAISE(auto key, store::KeyOf(*writer.plan_.env->store, target.location_uri));
  writer.folder_key_ = key + "/data/";
  writer.folder_uri_ = target.location_uri + "/data/";
  writer.sorting_ = SortingOf(target, writer.plan_.arrangement->sorted);
  int64_t bytes = 0;
  for (const auto& column : writer.plan_.rows->columns) {
    bytes += arrow::util::TotalBufferSize(*column);
  }
  writer.row_bytes_ = static_cast<double>(bytes) /
                      static_cast<double>(std::max<int64_t>(1, writer.plan_.rows->count));
  return writer;
}

// Wide rows make shorter row groups, so that a file is not many times its target size.
int64_t PartitionWriter::GroupRows() const {
  const auto& settings = plan_.target->settings;
  const double fitting = static_cast<double>(settings.target_file_size_bytes) / (1 + row_bytes_);
  return std::min(settings.row_group_rows,
                  std::max(kLeastGroupRows, static_cast<int64_t>(fitting)));
}

Status PartitionWriter::WriteGroup(const RowSlice& slice, const FileFormat& format,
                                   DataFileWriter* writer) const {
  const auto& columns = plan_.rows->columns;
  arrow::ArrayVector gathered(columns.size());
  TL_RETURN_NOT_OK(
      ParallelFor(static_cast<int>(columns.size()), plan_.threads, [&](int i) -> Status {
        TL_ASSIGN_OR_RAISE(gathered[i],
                           GatherColumn(columns[i], slice, format.columns[i].arrow_dictionary));
        return Status::OK();
      }));
  return writer->Write(
      *arrow::RecordBatch::Make(SchemaOf(format), slice.end - slice.begin, std::move(gathered)));
}

Status PartitionWriter::FinishFile(const PartitionRun& run, Progress* progress,
                                   std::vector<StoredFile>* files) const {
  TL_ASSIGN_OR_RAISE(iceberg::DataFile file, progress->writer->Close());
  progress->writer.reset();
  file.file_path = folder_uri_ + progress->name;
  file.partition = run.values;
  file.sort_order_id = plan_.arrangement->sorted ? plan_.target->order.order_id : 0;
  files->push_back({folder_key_ + progress->name, std::move(file)});
  return Status::OK();
}

Status PartitionWriter::Write(size_t i, uint64_t seed, std::vector<StoredFile>* files) const {
  const Target& target = *plan_.target;
  const PartitionRun& run = plan_.arrangement->partitions[i];
  TL_ASSIGN_OR_RAISE(std::string folder,
                     iceberg::PartitionPath(target.spec, target.schema, run.values));
  if (!folder.empty()) folder += '/';
  const int64_t group_rows = GroupRows();
  std::vector<int> delta_ids;
  if (target.contract.time_id) delta_ids.push_back(*target.contract.time_id);
  FileFormat format;
  format.schema = &target.schema;
  format.columns = PlanColumns(target.schema, delta_ids, target.settings, *plan_.rows,
                               plan_.arrangement->order, run.begin, run.end, group_rows);
  format.sorting = sorting_;
  format.settings = target.settings;
  format.executor = plan_.executor;

  const auto random = SeededRandom(seed);
  const double limit = static_cast<double>(target.settings.target_file_size_bytes);
  Progress progress;
  for (int64_t begin = run.begin; begin < run.end; begin += group_rows) {
    if (plan_.cancelled && plan_.cancelled()) {
      return MakeError(ErrorKind::kCancelled, target.table_name + ": append cancelled");
    }
    const RowSlice slice{&plan_.arrangement->order, begin, std::min(run.end, begin + group_rows),
                         plan_.arrangement->in_place};
    const double rows = static_cast<double>(slice.end - slice.begin);
    if (progress.writer && progress.EstimateWith(rows / 2, row_bytes_) > limit) {
      TL_RETURN_NOT_OK(FinishFile(run, &progress, files));
      progress.rows = progress.flushed_rows = progress.file_bytes = 0;
    }
    if (!progress.writer) {
      progress.name = folder + FormatUuid(NewUuidV7(plan_.now_ms, *random)) + ".parquet";
      TL_ASSIGN_OR_RAISE(auto sink, plan_.env->store->OpenWrite(folder_key_ + progress.name));
      TL_ASSIGN_OR_RAISE(progress.writer, DataFileWriter::Open(std::move(sink), format));
    }
    TL_RETURN_NOT_OK(WriteGroup(slice, format, progress.writer.get()));
    progress.writer->EndRowGroup();
    // Writing this row group has sent the one before to the sink.
    TL_ASSIGN_OR_RAISE(const int64_t flushed, progress.writer->FlushedBytes());
    progress.file_bytes = static_cast<double>(flushed);
    progress.flushed_rows = progress.rows;
    if (progress.flushed_rows > 0) {
      progress.ratio = progress.file_bytes / (progress.flushed_rows * row_bytes_ + 1);
    }
    progress.rows += rows;
  }
  return FinishFile(run, &progress, files);
}

}  // namespace timelake::write

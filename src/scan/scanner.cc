#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <utility>

#include <arrow/array.h>
#include <arrow/compute/api_vector.h>
#include <arrow/datum.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include "base/text.h"
#include "iceberg/arrow_schema.h"
#include "scan/deletes.h"
#include "scan/prune.h"
#include "scan/scan.h"
#include "table/data_file_reader.h"

namespace timelake::scan {
namespace {

using iceberg::Field;

// All that the morsels of one file share.
struct FileWork {
  size_t index = 0;  // in Plan::files
  table::DataFileRequest request;
  std::shared_ptr<const FileDeletes> deletes;
  std::vector<int> delete_places;  // of the deletes' columns in the batches read
};

struct Work {
  std::shared_ptr<const FileWork> file;
  Morsel morsel;
};

// Identity partition values stand in for columns that a file does not have (specification,
// "Column Projection").
std::vector<std::pair<int, iceberg::Value>> Constants(const iceberg::TableMetadata& metadata,
                                                      const ScanFile& file) {
  std::vector<std::pair<int, iceberg::Value>> constants;
  const iceberg::PartitionSpec* spec = iceberg::SpecById(metadata, file.spec_id);
  if (!spec || spec->fields.size() != file.file.partition.size()) return constants;
  for (size_t i = 0; i < spec->fields.size(); ++i) {
    if (spec->fields[i].transform.kind == iceberg::TransformKind::kIdentity) {
      constants.emplace_back(spec->fields[i].source_id, file.file.partition[i]);
    }
  }
  return constants;
}

// Compressed bytes of the wanted columns in some row groups.
int64_t BytesOf(const parquet::FileMetaData& footer, const std::vector<int>& row_groups,
                const std::vector<Field>& fields) {
  int64_t bytes = 0;
  for (int i = 0; i < footer.num_columns(); ++i) {
    const parquet::schema::Node& root = *footer.schema()->GetColumnRoot(i);
    const bool wanted = std::any_of(fields.begin(), fields.end(), [&](const Field& field) {
      return root.field_id() >= 0 ? root.field_id() == field.id : root.name() == field.name;
    });
    if (!wanted) continue;
    for (int row_group : row_groups) {
      bytes += footer.RowGroup(row_group)->ColumnChunk(i)->total_compressed_size();
    }
  }
  return bytes;
}

class MorselReader : public arrow::RecordBatchReader {
 public:
  MorselReader(Work work, std::unique_ptr<table::DataFileReader> file,
               std::shared_ptr<arrow::RecordBatchReader> batches, size_t columns,
               std::shared_ptr<Counters> counters)
      : work_(std::move(work)),
        file_(std::move(file)),
        batches_(std::move(batches)),
        counters_(std::move(counters)) {
    arrow::FieldVector fields = batches_->schema()->fields();
    fields.resize(columns);
    schema_ = arrow::schema(std::move(fields));
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    while (true) {
      out->reset();
      std::shared_ptr<arrow::RecordBatch> batch;
      TL_RETURN_NOT_OK(batches_->ReadNext(&batch));
      if (!batch) return Status::OK();
      const int64_t position = Advance(batch->num_rows());
      counters_->rows_read += batch->num_rows();
      TL_RETURN_NOT_OK(Finish(*batch, position, out));
      if ((*out)->num_rows() > 0) return Status::OK();
    }
  }

 private:
  // Position in the file of the next batch. Batches do not cross row groups.
  int64_t Advance(int64_t rows) {
    const std::vector<int>& row_groups = work_.morsel.row_groups;
    while (row_ >= file_->row_group_rows(row_groups[row_group_])) {
      row_ = 0;
      ++row_group_;
    }
    const int64_t position = file_->row_group_offset(row_groups[row_group_]) + row_;
    row_ += rows;
    return position;
  }

  // Drops deleted rows, and the columns that only the deletes needed.
  Status Finish(const arrow::RecordBatch& batch, int64_t position,
                std::shared_ptr<arrow::RecordBatch>* out) const {
    std::shared_ptr<arrow::BooleanArray> survivors;
    if (!work_.file->deletes->empty()) {
      TL_ASSIGN_OR_RAISE(
          survivors, work_.file->deletes->Survivors(batch, position, work_.file->delete_places));
    }
    arrow::ArrayVector columns = batch.columns();
    columns.resize(static_cast<size_t>(schema_->num_fields()));
    int64_t rows = batch.num_rows();
    if (survivors) {
      rows = survivors->true_count();
      for (auto& column : columns) {
        TL_ASSIGN_OR_RAISE(arrow::Datum kept, arrow::compute::Filter(column, survivors));
        column = kept.make_array();
      }
    }
    *out = arrow::RecordBatch::Make(schema_, rows, std::move(columns));
    return Status::OK();
  }

  const Work work_;
  const std::unique_ptr<table::DataFileReader> file_;
  const std::shared_ptr<arrow::RecordBatchReader> batches_;
  const std::shared_ptr<Counters> counters_;
  std::shared_ptr<arrow::Schema> schema_;
  size_t row_group_ = 0;
  int64_t row_ = 0;
};

class ScannerImpl : public Scanner {
 public:
  ScannerImpl(const table::Env& env, const iceberg::TableMetadata& metadata, Plan plan,
              ScanRequest request, std::vector<Field> fields)
      : env_(env),
        metadata_(metadata),
        plan_(std::move(plan)),
        request_(std::move(request)),
        fields_(std::move(fields)) {
    iceberg::Schema out;
    out.fields = fields_;
    schema_ = iceberg::ToArrow(out);
    for (const ColumnTest& test : request_.predicate.all_of) {
      const Field* field = iceberg::FindFieldById(request_.schema, test.field_id);
      if (field && field->type.is_primitive()) tested_.push_back(*field);
    }
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  const Plan& plan() const override { return plan_; }

  Result<std::shared_ptr<arrow::RecordBatchReader>> Next() override {
    TL_ASSIGN_OR_RAISE(std::optional<Work> work, TakeWork());
    if (!work) return nullptr;
    auto reader = Open(*work);
    if (!reader.ok()) Fail(reader.status());
    return reader;
  }

 private:
  // A morsel, from the queue or of the next file. Waits while other threads look into files, as
  // they may leave morsels.
  Result<std::optional<Work>> TakeWork() {
    std::unique_lock lock(mutex_);
    while (true) {
      if (!failure_.ok()) return failure_;
      if (!ready_.empty()) {
        Work work = std::move(ready_.front());
        ready_.pop_front();
        return work;
      }
      if (next_file_ < plan_.files.size()) {
        const size_t index = next_file_++;
        ++looking_;
        lock.unlock();
        auto morsels = Split(index);
        lock.lock();
        --looking_;
        if (!morsels.ok() && failure_.ok()) failure_ = morsels.status();
        if (morsels.ok()) std::move(morsels->begin(), morsels->end(), std::back_inserter(ready_));
        changed_.notify_all();
      } else if (looking_ == 0) {
        return std::nullopt;
      } else {
        changed_.wait(lock);
      }
    }
  }

  void Fail(const Status& status) {
    std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = status;
    changed_.notify_all();
  }

  table::DataFileRequest RequestFor(const ScanFile& file) const {
    table::DataFileRequest request;
    request.uri = file.file.file_path;
    if (file.file.file_size_in_bytes > 0) request.size = file.file.file_size_in_bytes;
    request.constants = Constants(metadata_, file);
    request.keep_dictionaries = request_.keep_dictionaries;
    return request;
  }

  // The file's morsels: a row group each, of those that may have rows.
  Result<std::vector<Work>> Split(size_t index) {
    const ScanFile& file = plan_.files[index];
    if (ToLowerAscii(file.file.file_format) != "parquet") {
      return Unsupported("{}: data files of format {} are not read", file.file.file_path,
                         file.file.file_format);
    }
    auto work = std::make_shared<FileWork>();
    work->index = index;
    work->request = RequestFor(file);
    work->request.fields = tested_;
    TL_ASSIGN_OR_RAISE(auto reader, table::OpenDataFile(env_, work->request));
    work->request.fields = fields_;
    TL_ASSIGN_OR_RAISE(work->deletes, FileDeletes::Load(env_, metadata_, request_.schema, file));
    AddDeleteColumns(work.get());

    std::vector<Work> morsels;
    for (int i = 0; i < reader->num_row_groups(); ++i) {
      ++plan_.counters->row_groups_total;
      if (CanSkipRowGroup(*reader, i, file.file, request_.schema, request_.predicate)) {
        ++plan_.counters->row_groups_pruned;
        continue;
      }
      morsels.push_back(Work{work, Morsel{index, {i}}});
    }
    return morsels;
  }

  static void AddDeleteColumns(FileWork* work) {
    std::vector<Field>& fields = work->request.fields;
    for (const Field& column : work->deletes->columns()) {
      auto known = std::find_if(fields.begin(), fields.end(),
                                [&](const Field& field) { return field.id == column.id; });
      work->delete_places.push_back(static_cast<int>(known - fields.begin()));
      if (known == fields.end()) fields.push_back(column);
    }
  }

  Result<std::shared_ptr<arrow::RecordBatchReader>> Open(Work work) {
    TL_ASSIGN_OR_RAISE(auto file, table::OpenDataFile(env_, work.file->request));
    TL_ASSIGN_OR_RAISE(auto batches, file->Read(work.morsel.row_groups, request_.batch_rows));
    plan_.counters->bytes_read +=
        BytesOf(file->metadata(), work.morsel.row_groups, work.file->request.fields);
    return std::make_shared<MorselReader>(std::move(work), std::move(file), std::move(batches),
                                          fields_.size(), plan_.counters);
  }

  const table::Env env_;
  const iceberg::TableMetadata metadata_;
  const Plan plan_;
  const ScanRequest request_;
  const std::vector<Field> fields_;  // to hand out
  std::vector<Field> tested_;        // of the predicate
  std::shared_ptr<arrow::Schema> schema_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> ready_;
  size_t next_file_ = 0;
  int looking_ = 0;  // threads in Split
  Status failure_;
};

}  // namespace

Result<std::shared_ptr<Scanner>> Scanner::Make(const table::Env& env,
                                               const iceberg::TableMetadata& metadata, Plan plan,
                                               ScanRequest request) {
  if (request.batch_rows <= 0) return InvalidArgument("batches of {} rows", request.batch_rows);
  std::vector<Field> fields;
  for (int id : request.field_ids) {
    const Field* field = iceberg::FindFieldById(request.schema, id);
    if (!field) return InvalidArgument("the schema has no column with field id {}", id);
    fields.push_back(*field);
  }
  if (!plan.counters) plan.counters = std::make_shared<Counters>();
  return std::make_shared<ScannerImpl>(env, metadata, std::move(plan), std::move(request),
                                       std::move(fields));
}

}  // namespace timelake::scan

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "api/aligned_file.h"
#include "base/text.h"
#include "iceberg/arrow_schema.h"
#include "ingest/file_format.h"
#include "ingest/file_schema.h"
#include "table/table_impl.h"
#include "timelake/ingest.h"

namespace timelake {
namespace {

// The rows of one commit: whole files, so that nothing of a bad file is committed.
class CommitReader : public arrow::RecordBatchReader {
 public:
  CommitReader(const write::Target& target, const table::Env& env, std::deque<std::string>& pending,
               int64_t limit, const ImportOptions& options)
      : target_(target),
        env_(env),
        pending_(pending),
        limit_(limit),
        options_(options),
        schema_(iceberg::ToArrow(target.schema)) {}

  void SetTotals(int64_t bytes_total) { bytes_total_ = bytes_total; }
  // Starts the next commit; false when nothing is left.
  bool NextCommit() {
    rows_in_commit_ = 0;
    ended_ = false;
    return file_ != nullptr || !pending_.empty();
  }
  int64_t skipped() const { return skipped_ + (file_ ? file_->skipped() : 0); }
  const std::string& path() const { return path_; }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    *batch = nullptr;
    while (!ended_) {
      if (!file_) {
        if (pending_.empty() || Full()) break;
        TL_RETURN_NOT_OK(OpenNext());
      }
      TL_RETURN_NOT_OK(file_->ReadNext(batch));
      if (*batch) {
        rows_in_commit_ += (*batch)->num_rows();
        rows_ += (*batch)->num_rows();
        Progress();
        return Status::OK();
      }
      CloseFile();
      if (limit_ == 0) ended_ = true;
    }
    ended_ = true;
    return Status::OK();
  }

 private:
  bool Full() const { return limit_ > 0 && rows_in_commit_ >= limit_; }

  Status OpenNext() {
    path_ = pending_.front();
    TL_ASSIGN_OR_RAISE(file_, api::AlignedFile::Open(path_, target_, options_, env_));
    pending_.pop_front();
    return Status::OK();
  }

  void CloseFile() {
    skipped_ += file_->skipped();
    bytes_done_ += ingest::FileSize(path_);
    file_.reset();
    Progress();
  }

  void Progress() const {
    if (options_.progress) options_.progress(rows_, bytes_done_, bytes_total_);
  }

  const write::Target& target_;
  const table::Env& env_;
  std::deque<std::string>& pending_;
  const int64_t limit_;
  const ImportOptions& options_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<api::AlignedFile> file_;
  std::string path_;
  bool ended_ = false;
  int64_t rows_in_commit_ = 0;
  int64_t rows_ = 0;
  int64_t skipped_ = 0;
  int64_t bytes_done_ = 0;
  int64_t bytes_total_ = 0;
};

void Add(const AppendResult& one, ImportResult* total) {
  total->rows += one.rows;
  total->files += one.files;
  total->bytes += one.bytes;
  total->skipped += one.skipped;
  total->version = std::max(total->version, one.version);
  total->added_columns.insert(total->added_columns.end(), one.added_columns.begin(),
                              one.added_columns.end());
  if (one.duplicate) ++total->duplicates;
  if (one.attempts > 0 && !one.duplicate) ++total->commits;
}

Status WithCommitted(const Status& status, const ImportResult& done) {
  if (done.commits == 0) return status;
  return WithContext(status,
                     fmt::format("after {} rows in {} {} were committed", HumanCount(done.rows),
                                 done.commits, done.commits == 1 ? "commit" : "commits"));
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::Schema>> InferSchema(const std::string& path,
                                                          const ReadFilesOptions& options) {
  TL_ASSIGN_OR_RAISE(iceberg::Schema schema, ingest::SchemaOfFile(path, options));
  return iceberg::ToArrow(schema);
}

arrow::Result<ImportResult> ImportFiles(Table& table, const std::vector<std::string>& files,
                                        const ImportOptions& options, ImportResult* committed) {
  ImportResult total;
  ImportResult& done = committed ? *committed : total;
  done = {};
  if (options.rows_per_commit < 0) {
    return InvalidArgument("rows per commit {}: accepted are 0 (one commit a file) and up",
                           options.rows_per_commit);
  }
  TL_ASSIGN_OR_RAISE(const write::Target target, api::ImportTarget(*table.impl(), files, options));
  std::deque<std::string> pending(files.begin(), files.end());
  int64_t bytes = 0;
  for (const auto& file : files) bytes += ingest::FileSize(file);
  CommitReader reader(target, table.impl()->handle->env(), pending, options.rows_per_commit,
                      options);
  reader.SetTotals(bytes);
  int64_t skipped = 0;
  for (int64_t number = 0; reader.NextCommit(); ++number) {
    AppendOptions append = options.append;
    if (!append.batch_id.empty() &&
        (number > 0 || files.size() > 1 || options.rows_per_commit == 0)) {
      append.batch_id += fmt::format("-{}", number);
    }
    auto one = table.Append(&reader, append);
    if (!one.ok()) return WithCommitted(one.status(), done);
    one->skipped += reader.skipped() - skipped;
    skipped = reader.skipped();
    Add(*one, &done);
  }
  done.version = std::max(done.version, table.version());
  return done;
}

arrow::Result<ImportResult> CreateAndImport(Lake& lake, std::string_view name,
                                            const std::vector<std::string>& files,
                                            const TableOptions& table_options,
                                            const ImportOptions& options, ImportResult* committed) {
  if (files.empty()) return InvalidArgument("no files were given");
  ReadFilesOptions read = options.read;
  if (!read.cancelled) read.cancelled = options.append.cancelled;
  TL_ASSIGN_OR_RAISE(iceberg::Schema schema, ingest::SchemaOfFile(files[0], read));
  for (iceberg::Field& field : schema.fields) {
    // Days only: as a time column they are midnights.
    const bool days =
        field.name == table_options.time_column && field.type.id == iceberg::TypeId::kDate;
    if (days) field.type.id = iceberg::TypeId::kTimestamptz;
  }
  TL_ASSIGN_OR_RAISE(Table table, lake.CreateTable(name, iceberg::ToArrow(schema), table_options));
  ImportResult own;
  ImportResult& done = committed ? *committed : own;
  auto result = ImportFiles(table, files, options, &done);
  const bool unknown = !result.ok() && KindOf(result.status()) == ErrorKind::kCommitUnknown;
  if (!result.ok() && done.commits == 0 && done.duplicates == 0 && !unknown) {
    Status dropped = lake.DropTable(name, {.if_exists = true, .purge = false});
    if (!dropped.ok()) return WithContext(result.status(), "the empty table could not be dropped");
  }
  return result;
}

}  // namespace timelake

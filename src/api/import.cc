#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "api/append.h"
#include "api/new_columns.h"
#include "base/text.h"
#include "iceberg/arrow_schema.h"
#include "ingest/csv_reader.h"
#include "ingest/csv_text.h"
#include "ingest/file_format.h"
#include "ingest/file_schema.h"
#include "ingest/parquet_file.h"
#include "table/load.h"
#include "table/table_impl.h"
#include "timelake/ingest.h"
#include "write/align.h"

namespace timelake {
namespace {

using ingest::FileKind;

// Opens files one after the other as batches in the table's schema, checked, with errors that name
// the file.
class FileSource {
 public:
  FileSource(const write::Target& target, const ImportOptions& options, const table::Env& env)
      : target_(target), options_(options), env_(env) {
    write_options_.on_future = options.append.on_future.value_or(OnFuture::kError);
    write_options_.now_us = env.clock->NowMicros();
  }

  class AlignedFile : public arrow::RecordBatchReader {
   public:
    std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
    Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
      TL_RETURN_NOT_OK(input_->ReadNext(batch));
      if (!*batch) return Status::OK();
      TL_ASSIGN_OR_RAISE(*batch, aligner_->Align(**batch));
      return Status::OK();
    }
    int64_t skipped() const { return aligner_->skipped(); }

   private:
    friend class FileSource;
    write::Target target_;  // the aligner points into it
    std::shared_ptr<arrow::RecordBatchReader> input_;
    std::optional<write::Aligner> aligner_;
    std::shared_ptr<arrow::Schema> schema_;
  };

  Result<std::shared_ptr<AlignedFile>> Open(const std::string& path) {
    auto file = std::make_shared<AlignedFile>();
    file->target_ = target_;
    file->target_.table_name = target_.table_name + ", file " + path;
    file->schema_ = iceberg::ToArrow(target_.schema);
    TL_ASSIGN_OR_RAISE(file->input_, OpenInput(path));
    TL_ASSIGN_OR_RAISE(
        auto aligner, write::Aligner::Make(file->target_, *file->input_->schema(), write_options_));
    file->aligner_.emplace(std::move(aligner));
    TL_ASSIGN_OR_RAISE(const FileKind kind, ingest::KindOfFile(path, options_.read.format));
    if (kind.format != FileFormat::kParquet) {
      file->aligner_->NameRows(
          [path, gzip = kind.gzip](int64_t row) { return ingest::LineOfRecord(path, gzip, row); },
          "line");
    }
    return file;
  }

 private:
  Result<std::shared_ptr<arrow::RecordBatchReader>> OpenInput(const std::string& path) {
    TL_ASSIGN_OR_RAISE(FileKind kind, ingest::KindOfFile(path, options_.read.format));
    if (kind.format == FileFormat::kParquet) return ingest::ReadParquet(path);
    ReadFilesOptions read = options_.read;
    read.delimiter = ingest::DelimiterOf(read, kind.format);
    TL_ASSIGN_OR_RAISE(auto source, ingest::OpenCsv(path, kind.gzip, read));
    // An engine a file: a reader holds its engine's connection until its end.
    TL_ASSIGN_OR_RAISE(auto engine, sql::Engine::Make({}));
    return ingest::ReadCsv(*engine, source, target_.schema, read, target_.table_name,
                           [this](const std::string& note) { env_.Log(LogLevel::kWarning, note); });
  }

  const write::Target& target_;
  const ImportOptions& options_;
  const table::Env& env_;
  write::WriteOptions write_options_;
};

// The rows of one commit: whole files, so that nothing of a bad file is committed.
class CommitReader : public arrow::RecordBatchReader {
 public:
  CommitReader(FileSource& source, std::deque<std::string>& pending, int64_t limit,
               const ImportOptions& options, std::shared_ptr<arrow::Schema> schema)
      : source_(source),
        pending_(pending),
        limit_(limit),
        options_(options),
        schema_(std::move(schema)) {}

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
    TL_ASSIGN_OR_RAISE(file_, source_.Open(path_));
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

  FileSource& source_;
  std::deque<std::string>& pending_;
  const int64_t limit_;
  const ImportOptions& options_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<FileSource::AlignedFile> file_;
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

// The table's columns, and those of the files that it gets by the setting `new-columns`.
Result<write::Target> ImportTarget(const detail::TableImpl& table,
                                   const std::vector<std::string>& files,
                                   const ImportOptions& options) {
  // Not what the handle knows: to reading files one request more is nothing.
  TL_ASSIGN_OR_RAISE(const table::Version newest, table::LoadNewest(*table.handle));
  TL_ASSIGN_OR_RAISE(write::Target target,
                     api::MakeTarget(*table.handle, *newest.metadata,
                                     table.catalog->session_settings(), options.append.settings));
  if (!target.settings.add_new_columns) return target;
  ReadFilesOptions read = options.read;
  if (!read.cancelled) read.cancelled = options.append.cancelled;
  auto columns = ingest::NewColumnsOfFiles(files, target.schema, read);
  if (!columns.ok()) return WithContext(columns.status(), "table " + target.table_name);
  TL_ASSIGN_OR_RAISE(const auto metadata, api::WithNewColumns(target.table_name, newest.metadata,
                                                              *iceberg::ToArrow(*columns)));
  target.schema = *iceberg::CurrentSchema(*metadata);
  return target;
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
  TL_ASSIGN_OR_RAISE(const write::Target target, ImportTarget(*table.impl(), files, options));
  std::deque<std::string> pending(files.begin(), files.end());
  int64_t bytes = 0;
  for (const auto& file : files) bytes += ingest::FileSize(file);
  FileSource source(target, options, table.impl()->handle->env());
  CommitReader reader(source, pending, options.rows_per_commit, options,
                      iceberg::ToArrow(target.schema));
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

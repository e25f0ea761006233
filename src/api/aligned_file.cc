#include "api/aligned_file.h"

#include <deque>
#include <utility>

#include "api/append.h"
#include "api/new_columns.h"
#include "iceberg/arrow_schema.h"
#include "ingest/csv_reader.h"
#include "ingest/csv_text.h"
#include "ingest/file_format.h"
#include "ingest/file_schema.h"
#include "ingest/parquet_file.h"
#include "table/load.h"
#include "table/table_impl.h"

namespace timelake {
namespace {

using ingest::FileKind;

Result<std::shared_ptr<arrow::RecordBatchReader>> OpenInput(const std::string& path,
                                                            const FileKind& kind,
                                                            const write::Target& target,
                                                            const ImportOptions& options,
                                                            const table::Env& env) {
  if (kind.format == FileFormat::kParquet) return ingest::ReadParquet(path);
  ReadFilesOptions read = options.read;
  read.delimiter = ingest::DelimiterOf(read, kind.format);
  TL_ASSIGN_OR_RAISE(auto source, ingest::OpenCsv(path, kind.gzip, read));
  // An engine a file: a reader holds its engine's connection until its end.
  TL_ASSIGN_OR_RAISE(auto engine, sql::Engine::Make({}));
  return ingest::ReadCsv(*engine, source, target.schema, read, target.table_name,
                         [&env](const std::string& note) { env.Log(LogLevel::kWarning, note); });
}

// Files one after the other; keeps the table's environment.
class FilesReader : public arrow::RecordBatchReader {
 public:
  FilesReader(Table table, write::Target target, std::deque<std::string> files,
              ImportOptions options)
      : table_(std::move(table)),
        target_(std::move(target)),
        files_(std::move(files)),
        options_(std::move(options)),
        schema_(iceberg::ToArrow(target_.schema)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    while (true) {
      batch->reset();
      if (file_ == nullptr) {
        if (files_.empty()) return Status::OK();
        TL_ASSIGN_OR_RAISE(file_, api::AlignedFile::Open(files_.front(), target_, options_,
                                                         table_.impl()->handle->env()));
        files_.pop_front();
      }
      TL_RETURN_NOT_OK(file_->ReadNext(batch));
      if (*batch != nullptr) return Status::OK();
      file_.reset();
    }
  }

 private:
  const Table table_;
  const write::Target target_;
  std::deque<std::string> files_;
  const ImportOptions options_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<api::AlignedFile> file_;
};

}  // namespace

namespace api {

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

Result<std::shared_ptr<AlignedFile>> AlignedFile::Open(const std::string& path,
                                                       const write::Target& target,
                                                       const ImportOptions& options,
                                                       const table::Env& env) {
  std::shared_ptr<AlignedFile> file(new AlignedFile(target));
  file->schema_ = iceberg::ToArrow(target.schema);
  TL_ASSIGN_OR_RAISE(const FileKind kind, ingest::KindOfFile(path, options.read.format));
  TL_ASSIGN_OR_RAISE(file->input_, OpenInput(path, kind, target, options, env));
  file->target_.table_name += ", file " + path;
  write::WriteOptions write;
  write.on_future = options.append.on_future.value_or(OnFuture::kError);
  write.now_us = env.clock->NowMicros();
  TL_ASSIGN_OR_RAISE(auto aligner,
                     write::Aligner::Make(file->target_, *file->input_->schema(), write));
  file->aligner_.emplace(std::move(aligner));
  if (kind.format != FileFormat::kParquet) {
    file->aligner_->NameRows(
        [path, gzip = kind.gzip](int64_t row) { return ingest::LineOfRecord(path, gzip, row); },
        "line");
  }
  return file;
}

Status AlignedFile::ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) {
  TL_RETURN_NOT_OK(input_->ReadNext(batch));
  if (!*batch) return Status::OK();
  TL_ASSIGN_OR_RAISE(*batch, aligner_->Align(**batch));
  return Status::OK();
}

}  // namespace api

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> ReadFiles(
    const Table& table, const std::vector<std::string>& files, const ImportOptions& options) {
  TL_ASSIGN_OR_RAISE(auto target, api::ImportTarget(*table.impl(), files, options));
  return std::make_shared<FilesReader>(
      table, std::move(target), std::deque<std::string>(files.begin(), files.end()), options);
}

}  // namespace timelake

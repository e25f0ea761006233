#include "ingest/parquet_file.h"

#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/properties.h>

namespace timelake::ingest {
namespace {

constexpr int64_t kBatchRows = 65536;

// Keeps the file open and puts its name in front of errors.
class NamedReader : public arrow::RecordBatchReader {
 public:
  NamedReader(std::unique_ptr<parquet::arrow::FileReader> file,
              std::shared_ptr<arrow::RecordBatchReader> batches, std::string path)
      : file_(std::move(file)), batches_(std::move(batches)), path_(std::move(path)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return batches_->schema(); }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    Status status = batches_->ReadNext(batch);
    if (status.ok()) return status;
    return InvalidArgument("file {} cannot be read as Parquet: {}", path_, status.message());
  }

 private:
  std::unique_ptr<parquet::arrow::FileReader> file_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
  std::string path_;
};

Result<std::shared_ptr<arrow::RecordBatchReader>> Open(const std::string& path) {
  TL_ASSIGN_OR_RAISE(auto input, arrow::io::ReadableFile::Open(path));
  parquet::ArrowReaderProperties properties;
  properties.set_batch_size(kBatchRows);
  properties.set_use_threads(true);
  properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
  properties.set_arrow_extensions_enabled(true);
  parquet::arrow::FileReaderBuilder builder;
  TL_RETURN_NOT_OK(builder.Open(input));
  std::unique_ptr<parquet::arrow::FileReader> file;
  TL_RETURN_NOT_OK(builder.properties(properties)->Build(&file));
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatchReader> batches,
                     file->GetRecordBatchReader());
  return std::make_shared<NamedReader>(std::move(file), std::move(batches), path);
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatchReader>> ReadParquet(const std::string& path) {
  auto reader = Open(path);
  if (!reader.ok()) {
    return InvalidArgument("file {} cannot be read as Parquet: {}", path,
                           reader.status().message());
  }
  return reader;
}

}  // namespace timelake::ingest

#include <string>
#include <utility>

#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/writer.h>

#include "result_writer.h"

namespace timelake::cli {
namespace {

Status OneOnly(bool first) {
  return first ? Status::OK() : Status::Invalid("this format holds one result, and there are more");
}

class ArrowWriter : public ResultWriter {
 public:
  explicit ArrowWriter(std::shared_ptr<ResultStream> stream) : stream_(std::move(stream)) {}

  Status Begin(const std::shared_ptr<arrow::Schema>& schema) override {
    ARROW_RETURN_NOT_OK(OneOnly(writer_ == nullptr));
    return arrow::ipc::MakeStreamWriter(stream_, schema).Value(&writer_);
  }
  Status Write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    return writer_->WriteRecordBatch(*batch);
  }
  Status End() override { return writer_->Close(); }

 private:
  std::shared_ptr<ResultStream> stream_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

class ParquetWriter : public ResultWriter {
 public:
  explicit ParquetWriter(std::shared_ptr<ResultStream> stream) : stream_(std::move(stream)) {}

  Status Begin(const std::shared_ptr<arrow::Schema>& schema) override {
    ARROW_RETURN_NOT_OK(OneOnly(writer_ == nullptr));
    auto properties =
        parquet::WriterProperties::Builder().compression(parquet::Compression::ZSTD)->build();
    // The Arrow schema in the file keeps what Parquet has no type for, e.g. time zones.
    auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    auto writer =
        parquet::arrow::FileWriter::Open(*schema, arrow::default_memory_pool(), stream_,
                                         std::move(properties), std::move(arrow_properties));
    if (!writer.ok()) {
      const std::string why = writer.status().message();
      return writer.status().WithMessage("a Parquet file cannot hold this result: ", why);
    }
    writer_ = *std::move(writer);
    return Status::OK();
  }
  Status Write(const std::shared_ptr<arrow::RecordBatch>& batch) override {
    return writer_->WriteRecordBatch(*batch);
  }
  Status End() override { return writer_->Close(); }

 private:
  std::shared_ptr<ResultStream> stream_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

}  // namespace

std::unique_ptr<ResultWriter> MakeArrowWriter(std::shared_ptr<ResultStream> stream) {
  return std::make_unique<ArrowWriter>(std::move(stream));
}

std::unique_ptr<ResultWriter> MakeParquetWriter(std::shared_ptr<ResultStream> stream) {
  return std::make_unique<ParquetWriter>(std::move(stream));
}

}  // namespace timelake::cli

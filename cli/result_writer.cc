#include "result_writer.h"

#include <utility>

#include <arrow/record_batch.h>

#include "interrupt.h"

namespace timelake::cli {
namespace {

class NoWriter : public ResultWriter {
 public:
  Status Begin(const std::shared_ptr<arrow::Schema>&) override { return Status::OK(); }
  Status Write(const std::shared_ptr<arrow::RecordBatch>&) override { return Status::OK(); }
  Status End() override { return Status::OK(); }
};

}  // namespace

bool ParseOutputFormat(std::string_view name, OutputFormat* format) {
  constexpr std::pair<std::string_view, OutputFormat> kNames[] = {
      {"table", OutputFormat::kTable},     {"csv", OutputFormat::kCsv},
      {"json", OutputFormat::kJson},       {"ndjson", OutputFormat::kNdjson},
      {"parquet", OutputFormat::kParquet}, {"arrow", OutputFormat::kArrow},
      {"none", OutputFormat::kNone},
  };
  for (const auto& [known, value] : kNames) {
    if (known != name) continue;
    *format = value;
    return true;
  }
  return false;
}

std::unique_ptr<ResultWriter> MakeResultWriter(OutputFormat format,
                                               std::shared_ptr<ResultStream> stream) {
  switch (format) {
    case OutputFormat::kTable: return MakeTableWriter(std::move(stream));
    case OutputFormat::kCsv: return MakeCsvWriter(std::move(stream));
    case OutputFormat::kJson: return MakeJsonWriter(std::move(stream), /*as_array=*/true);
    case OutputFormat::kNdjson: return MakeJsonWriter(std::move(stream), /*as_array=*/false);
    case OutputFormat::kParquet: return MakeParquetWriter(std::move(stream));
    case OutputFormat::kArrow: return MakeArrowWriter(std::move(stream));
    case OutputFormat::kNone: break;
  }
  return std::make_unique<NoWriter>();
}

Result<int64_t> WriteResult(arrow::RecordBatchReader* reader, ResultWriter* writer) {
  ARROW_RETURN_NOT_OK(writer->Begin(reader->schema()));
  int64_t rows = 0;
  while (true) {
    if (Stopping()) return Status::Cancelled("interrupted");
    ARROW_ASSIGN_OR_RAISE(const auto batch, reader->Next());
    if (batch == nullptr) break;
    if (batch->num_rows() == 0) continue;
    ARROW_RETURN_NOT_OK(writer->Write(batch));
    rows += batch->num_rows();
  }
  ARROW_RETURN_NOT_OK(writer->End());
  return rows;
}

}  // namespace timelake::cli

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

#include "output_stream.h"
#include "status.h"

namespace timelake::cli {

enum class OutputFormat { kTable, kCsv, kJson, kNdjson, kParquet, kArrow, kNone };

inline constexpr std::string_view kOutputFormats = "table, csv, json, ndjson, parquet, arrow, none";

// One of kOutputFormats, else false.
bool ParseOutputFormat(std::string_view name, OutputFormat* format);

// Formats that are bytes and hold exactly one result.
inline bool IsBinary(OutputFormat format) {
  return format == OutputFormat::kParquet || format == OutputFormat::kArrow;
}

// Writes results as they stream in; never holds more than a few batches (a Parquet row group).
class ResultWriter {
 public:
  virtual ~ResultWriter() = default;
  virtual Status Begin(const std::shared_ptr<arrow::Schema>& schema) = 0;
  virtual Status Write(const std::shared_ptr<arrow::RecordBatch>& batch) = 0;
  virtual Status End() = 0;
};

std::unique_ptr<ResultWriter> MakeResultWriter(OutputFormat format,
                                               std::shared_ptr<ResultStream> stream);

// Writes all batches of `reader` as one result and returns the number of rows. Stops between
// batches when we were asked to.
Result<int64_t> WriteResult(arrow::RecordBatchReader* reader, ResultWriter* writer);

// One per format, used by MakeResultWriter.
std::unique_ptr<ResultWriter> MakeTableWriter(std::shared_ptr<ResultStream> stream);
std::unique_ptr<ResultWriter> MakeCsvWriter(std::shared_ptr<ResultStream> stream);
std::unique_ptr<ResultWriter> MakeJsonWriter(std::shared_ptr<ResultStream> stream, bool as_array);
std::unique_ptr<ResultWriter> MakeParquetWriter(std::shared_ptr<ResultStream> stream);
std::unique_ptr<ResultWriter> MakeArrowWriter(std::shared_ptr<ResultStream> stream);

}  // namespace timelake::cli

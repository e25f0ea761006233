#include "sql/result_reader.h"

#include <utility>

#include <arrow/c/bridge.h>
#include <duckdb/common/arrow/arrow_converter.hpp>
#include <duckdb/common/arrow/arrow_type_extension.hpp>
#include <duckdb/common/arrow/arrow_util.hpp>
#include <duckdb/common/type_visitor.hpp>
#include <duckdb/main/chunk_scan_state/query_result.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/main/query_result.hpp>

#include "base/text.h"
#include "sql/database.h"
#include "sql/error.h"

namespace timelake::sql {

namespace {

// Rows of a batch: eight of DuckDB's chunks.
constexpr duckdb::idx_t kBatchRows = 8 * STANDARD_VECTOR_SIZE;

// Types that DuckDB exports as something that is not their value (bits as bytes with a header,
// numbers beyond 2^127 as negative ones, a time without its offset).
Status CheckExportable(const duckdb::QueryResult& result) {
  for (size_t i = 0; i < result.types.size(); ++i) {
    const auto& type = result.types[i];
    for (const auto id : {duckdb::LogicalTypeId::UHUGEINT, duckdb::LogicalTypeId::BIT,
                          duckdb::LogicalTypeId::BIGNUM, duckdb::LogicalTypeId::TIME_TZ}) {
      if (duckdb::TypeVisitor::Contains(type, id)) {
        return Unsupported(
            "column {} of the result has type {}, which cannot leave as Arrow: cast "
            "it, for example to VARCHAR",
            Quote(result.names[i]), type.ToString());
      }
    }
  }
  return Status::OK();
}

class ResultReader : public arrow::RecordBatchReader {
 public:
  ResultReader(std::shared_ptr<Database> database, duckdb::unique_ptr<duckdb::QueryResult> result,
               std::function<void(bool)> finished)
      : database_(std::move(database)),
        result_(std::move(result)),
        finished_(std::move(finished)) {}

  ~ResultReader() override { (void)Close(); }

  Status Init() {
    TL_RETURN_NOT_OK(CheckExportable(*result_));
    options_ = result_->client_properties;
    options_.time_zone = "UTC";  // of the exported type; the instants are the same in any zone
    ArrowSchema exported;
    duckdb::ArrowConverter::ToArrowSchema(&exported, result_->types, result_->names, options_);
    TL_ASSIGN_OR_RAISE(schema_, arrow::ImportSchema(&exported));
    extensions_ = duckdb::ArrowTypeExtensionData::GetExtensionTypes(*database_->connection->context,
                                                                    result_->types);
    chunks_ = std::make_unique<duckdb::QueryResultChunkScanState>(*result_);
    return Status::OK();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    batch->reset();
    if (!result_) return Status::OK();
    bool fatal = false;
    const Status status = Guard([&] { return Fetch(batch, &fatal); }, &fatal);
    if (!status.ok() || !*batch) Finish(fatal);
    return status;
  }

  Status Close() override {
    if (result_) {
      database_->connection->Interrupt();
      Finish(false);
    }
    return Status::OK();
  }

 private:
  Status Fetch(std::shared_ptr<arrow::RecordBatch>* batch, bool* fatal) {
    ArrowArray exported;
    duckdb::idx_t rows = 0;
    duckdb::ErrorData error;
    if (!duckdb::ArrowUtil::TryFetchChunk(*chunks_, options_, kBatchRows, &exported, rows, error,
                                          extensions_)) {
      if (error.HasError()) return FromDuckDb(error, fatal);
      return MakeError(ErrorKind::kCancelled, "the query was cancelled");
    }
    if (rows == 0) return Status::OK();
    return arrow::ImportRecordBatch(&exported, schema_).Value(batch);
  }

  void Finish(bool fatal) {
    chunks_.reset();
    result_.reset();
    try {
      // Ends the statement and its transaction now, not with the next one.
      database_->connection->context->CancelTransaction();
    } catch (...) {
      fatal = true;
    }
    database_.reset();
    std::exchange(finished_, nullptr)(fatal);
  }

  std::shared_ptr<Database> database_;
  duckdb::unique_ptr<duckdb::QueryResult> result_;  // null when finished
  std::function<void(bool)> finished_;
  std::shared_ptr<arrow::Schema> schema_;
  duckdb::ClientProperties options_;
  duckdb::unordered_map<duckdb::idx_t, const duckdb::shared_ptr<duckdb::ArrowTypeExtensionData>>
      extensions_;
  std::unique_ptr<duckdb::QueryResultChunkScanState> chunks_;
};

}  // namespace

Result<std::shared_ptr<arrow::RecordBatchReader>> MakeResultReader(
    std::shared_ptr<Database> database, duckdb::unique_ptr<duckdb::QueryResult> result,
    std::function<void(bool fatal)> finished) {
  auto reader =
      std::make_shared<ResultReader>(std::move(database), std::move(result), std::move(finished));
  // A type that Arrow does not have ends here; the reader's destructor then stops the statement.
  TL_RETURN_NOT_OK(reader->Init());
  return reader;
}

}  // namespace timelake::sql

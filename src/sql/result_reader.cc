#include "sql/result_reader.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <duckdb/main/client_context.hpp>
#include <duckdb/main/pending_query_result.hpp>
#include <duckdb/main/query_result.hpp>

#include "sql/database.h"
#include "sql/error.h"
#include "sql/result_collector.h"

namespace timelake::sql {

namespace {

// How often to look whether there is something to do while other threads do all there is. Mostly
// they are done in a moment.
constexpr int kLooks = 64;
constexpr std::chrono::microseconds kFirstWait{20};
constexpr std::chrono::microseconds kLongestWait{1000};

class ResultReader : public arrow::RecordBatchReader {
 public:
  ResultReader(std::shared_ptr<Database> database,
               duckdb::unique_ptr<duckdb::PendingQueryResult> statement,
               std::shared_ptr<ResultOutput> output, std::function<void(bool)> finished)
      : database_(std::move(database)),
        statement_(std::move(statement)),
        output_(std::move(output)),
        finished_(std::move(finished)) {}

  ~ResultReader() override { (void)Close(); }

  std::shared_ptr<arrow::Schema> schema() const override { return output_->format->schema; }

  // Runs the statement to its end, or until its result turns out to be a large one.
  Status Start() {
    return Guarded([&](bool* fatal) -> Status {
      while (statement_ && !output_->queue.large()) TL_RETURN_NOT_OK(Work(fatal));
      return Status::OK();
    });
  }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    batch->reset();
    if (!database_) return Status::OK();
    TL_RETURN_NOT_OK(Guarded([&](bool* fatal) -> Status {
      while (true) {
        if (database_->connection->context->IsInterrupted()) return Stopped(fatal);
        const auto batches = output_->queue.Pop();
        if (!batches.empty()) return Merge(batches).Value(batch);
        if (!statement_) return Status::OK();
        TL_RETURN_NOT_OK(Work(fatal));
      }
    }));
    if (!*batch) Finish(false);
    return Status::OK();
  }

  Status Close() override {
    if (database_) {
      database_->connection->Interrupt();
      Finish(false);
    }
    return Status::OK();
  }

 private:
  // Ends the statement when `body` fails.
  template <typename Body>
  Status Guarded(const Body& body) {
    bool fatal = false;
    const Status status = Guard([&] { return body(&fatal); }, &fatal);
    if (!status.ok()) Finish(fatal);
    return status;
  }

  static Result<std::shared_ptr<arrow::RecordBatch>> Merge(
      const arrow::RecordBatchVector& batches) {
    if (batches.size() == 1) return batches[0];
    return arrow::ConcatenateRecordBatches(batches);
  }

  // Why the statement was interrupted: by an error on another thread, or by the user.
  Status Stopped(bool* fatal) {
    output_->queue.Close();
    while (statement_) TL_RETURN_NOT_OK(Work(fatal));
    return MakeError(ErrorKind::kCancelled, "the query was cancelled");
  }

  // Does some of the statement's work, or waits a moment for what other threads do.
  Status Work(bool* fatal) {
    using duckdb::PendingExecutionResult;
    switch (statement_->ExecuteTask()) {
      case PendingExecutionResult::EXECUTION_ERROR:
        return FromDuckDb(statement_->GetErrorObject(), fatal);
      case PendingExecutionResult::RESULT_READY:
      case PendingExecutionResult::EXECUTION_FINISHED: {
        const auto result = statement_->Execute();
        if (result->HasError()) return FromDuckDb(result->GetErrorObject(), fatal);
        statement_.reset();
        return Status::OK();
      }
      case PendingExecutionResult::RESULT_NOT_READY: looks_ = 0; return Status::OK();
      case PendingExecutionResult::BLOCKED:
      case PendingExecutionResult::NO_TASKS_AVAILABLE: break;
    }
    if (++looks_ < kLooks) {
      std::this_thread::yield();
    } else {
      const int doublings = std::min(looks_ - kLooks, 8);
      output_->queue.WaitForBatch(std::min(kFirstWait * (1 << doublings), kLongestWait));
    }
    return Status::OK();
  }

  void Finish(bool fatal) {
    output_->queue.Close();
    try {
      // Ends the statement and its transaction now, not with the next one.
      database_->connection->context->CancelTransaction();
      statement_.reset();
    } catch (...) {
      fatal = true;
    }
    database_.reset();
    std::exchange(finished_, nullptr)(fatal);
  }

  std::shared_ptr<Database> database_;                        // null when finished
  duckdb::unique_ptr<duckdb::PendingQueryResult> statement_;  // null when it has run to its end
  const std::shared_ptr<ResultOutput> output_;
  std::function<void(bool)> finished_;
  int looks_ = 0;  // in a row that found nothing to do
};

}  // namespace

Result<std::shared_ptr<arrow::RecordBatchReader>> MakeResultReader(
    std::shared_ptr<Database> database, duckdb::unique_ptr<duckdb::PendingQueryResult> statement,
    std::shared_ptr<ResultOutput> output, std::function<void(bool fatal)> finished) {
  auto reader = std::make_shared<ResultReader>(std::move(database), std::move(statement),
                                               std::move(output), std::move(finished));
  TL_RETURN_NOT_OK(reader->Start());
  return reader;
}

}  // namespace timelake::sql

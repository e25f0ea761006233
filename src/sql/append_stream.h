#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <arrow/record_batch.h>

#include "base/error.h"
#include "timelake/options.h"

namespace timelake::sql {

// Carries batches from the threads of a query to an append that pulls them on a thread of its own,
// a few at a time: pushing waits when the append is behind. Thread-safe. Destroyed before Finish,
// it makes the append fail, so that nothing is committed.
class AppendStream {
 public:
  using Append = std::function<Result<AppendResult>(arrow::RecordBatchReader* reader,
                                                    std::function<bool()> cancelled)>;

  // `interrupted` is polled while waiting, from any thread.
  AppendStream(std::shared_ptr<arrow::Schema> schema, Append append,
               std::function<bool()> interrupted);
  ~AppendStream();

  // Of the schema given. The append's error once it has failed.
  Status Push(std::shared_ptr<arrow::RecordBatch> batch);

  // No more batches: waits for the commit. Call once.
  Result<AppendResult> Finish();

  int64_t rows() const;  // pushed so far

 private:
  class Reader;

  void Run();
  void Abort();
  Status Pull(std::shared_ptr<arrow::RecordBatch>* batch);

  const std::shared_ptr<arrow::Schema> schema_;
  const Append append_;
  const std::function<bool()> interrupted_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<arrow::RecordBatch>> batches_;
  int64_t rows_ = 0;
  bool complete_ = false;
  bool aborted_ = false;
  bool ended_ = false;  // the append is over: `status_`, and `result_` when that is ok
  Status status_;
  AppendResult result_;
  std::thread thread_;  // started last
};

}  // namespace timelake::sql

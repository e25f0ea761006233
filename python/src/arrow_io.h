#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include <arrow/record_batch.h>

#include "call.h"
#include "status.h"

namespace timelake::python {

using BatchReaderPtr = std::shared_ptr<arrow::RecordBatchReader>;
using BatchPtr = std::shared_ptr<arrow::RecordBatch>;
using SchemaPtr = std::shared_ptr<arrow::Schema>;

// The schema in an "arrow_schema" capsule, which is used up.
SchemaPtr ImportSchemaCapsule(nb::handle capsule);

// An "arrow_array_stream" capsule, a pair (schema, array) of capsules, or a BatchSource.
BatchReaderPtr ImportSource(nb::handle source);

nb::object ExportSchema(const arrow::Schema& schema);
nb::object ExportReader(BatchReaderPtr reader);
nb::object ExportBatch(const arrow::RecordBatch& batch);

// Counts what a call has read so far, for its progress report.
struct ReadCount {
  std::atomic<int64_t> rows{0};
};

// A source, and the batches that it gave at once.
struct BegunSource {
  BatchReaderPtr reader;
  std::deque<BatchPtr> first;
  bool ended = false;     // there are no more
  arrow::Status failure;  // why not, if it failed
};

// Reads what comes within a moment, some ten thousand rows at most, so that a call with few rows
// need not change threads for them. With the GIL held.
BegunSource Begin(BatchReaderPtr reader);

// The rest is read on the thread that made the call.
BatchReaderPtr ReadOnCallingThread(BegunSource source, std::shared_ptr<Call> call,
                                   std::shared_ptr<ReadCount> count);

// The batches that a Python iterator gives, each with `__arrow_c_array__`. What Python raises is
// kept: `Rethrow` throws it once the call has failed.
class BatchSource {
 public:
  BatchSource(SchemaPtr schema, nb::object iterator)
      : schema_(std::move(schema)), iterator_(std::move(iterator)) {}

  const SchemaPtr& schema() const { return schema_; }
  arrow::Status Next(BatchPtr* batch);
  void Rethrow();

 private:
  const SchemaPtr schema_;
  nb::object iterator_;
  std::unique_ptr<nb::python_error> raised_;
};

void BindArrow(nb::module_& m);

}  // namespace timelake::python

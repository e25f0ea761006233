#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <arrow/record_batch.h>

#include "base/error.h"

namespace timelake::api {

// The rows of several queries, one after the other; each is opened when the one before is at its
// end. All have one schema.
class SlicedRows : public arrow::RecordBatchReader {
 public:
  using Open = std::function<Result<std::shared_ptr<arrow::RecordBatchReader>>(size_t slice)>;

  // `count` >= 1.
  static Result<std::shared_ptr<SlicedRows>> Make(size_t count, Open open) {
    TL_ASSIGN_OR_RAISE(auto first, open(0));
    return std::shared_ptr<SlicedRows>(new SlicedRows(count, std::move(open), std::move(first)));
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    batch->reset();
    while (current_) {
      TL_RETURN_NOT_OK(current_->ReadNext(batch));
      if (*batch) return Status::OK();
      current_.reset();  // before the next one, as they share an engine
      if (++slice_ < count_) {
        TL_ASSIGN_OR_RAISE(current_, open_(slice_));
      }
    }
    return Status::OK();
  }

 private:
  SlicedRows(size_t count, Open open, std::shared_ptr<arrow::RecordBatchReader> first)
      : count_(count),
        open_(std::move(open)),
        schema_(first->schema()),
        current_(std::move(first)) {}

  const size_t count_;
  const Open open_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::RecordBatchReader> current_;
  size_t slice_ = 0;
};

}  // namespace timelake::api

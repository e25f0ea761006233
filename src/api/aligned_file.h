#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <arrow/record_batch.h>

#include "table/env.h"
#include "timelake/ingest.h"
#include "write/align.h"

namespace timelake::api {

// The table's columns, and those of the files that it gets by the setting `new-columns`.
Result<write::Target> ImportTarget(const detail::TableImpl& table,
                                   const std::vector<std::string>& files,
                                   const ImportOptions& options);

// One file's rows in the table's schema, checked; errors name the file, and line or row.
class AlignedFile : public arrow::RecordBatchReader {
 public:
  static Result<std::shared_ptr<AlignedFile>> Open(const std::string& path,
                                                   const write::Target& target,
                                                   const ImportOptions& options,
                                                   const table::Env& env);

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override;
  int64_t skipped() const { return aligner_->skipped(); }

 private:
  explicit AlignedFile(write::Target target) : target_(std::move(target)) {}

  write::Target target_;  // the aligner points into it
  std::shared_ptr<arrow::RecordBatchReader> input_;
  std::optional<write::Aligner> aligner_;
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace timelake::api

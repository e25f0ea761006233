#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/record_batch.h>

#include "write/convert.h"
#include "write/write.h"

namespace timelake::write {

// First step: batches as the caller has them -> the table's columns, in order, as the Arrow types
// of iceberg::ToArrow (strings may stay dictionary(int32, utf8)). Columns are matched by exact
// name; a missing nullable column becomes nulls, the ingest-time column `now_us`. Errors are
// kInvalidArgument and name table, column, row of the append (from 1), value and what is accepted.
class Aligner {
 public:
  // Another count than rows of the append for messages: `place_of` maps a row (from 1) to it,
  // `unit` names it ("line").
  void NameRows(std::function<int64_t(int64_t row)> place_of, std::string unit);

  // Checks the columns: unknown, repeated, missing ones.
  static Result<Aligner> Make(const Target& target, const arrow::Schema& input,
                              const WriteOptions& options);

  Result<std::shared_ptr<arrow::RecordBatch>> Align(const arrow::RecordBatch& batch);

  int64_t rows_in() const { return rows_in_; }
  int64_t skipped() const { return skipped_; }

 private:
  Aligner(const Target* target, const WriteOptions& options) : target_(target), options_(options) {}

  Result<std::shared_ptr<arrow::Array>> AlignColumn(const arrow::RecordBatch& batch,
                                                    size_t column) const;
  Status CheckColumn(const iceberg::Field& field, const arrow::Array& array) const;
  Result<std::shared_ptr<arrow::RecordBatch>> DropOutside(
      std::shared_ptr<arrow::RecordBatch> batch);
  Place PlaceOf(const iceberg::Field& field) const;
  int64_t latest_us() const;
  int64_t earliest_us() const;

  const Target* target_;
  WriteOptions options_;
  std::vector<int> source_;  // per table column: column of the input, -1: missing
  int64_t rows_in_ = 0;      // rows of the batches before the current one
  int64_t skipped_ = 0;
  std::function<int64_t(int64_t)> place_of_;
  std::string unit_ = "row";
};

}  // namespace timelake::write

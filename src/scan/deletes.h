#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include <arrow/record_batch.h>

#include "iceberg/metadata.h"
#include "scan/scan.h"
#include "table/env.h"

namespace timelake::scan {

// All batches of a delete file, which is Parquet like a data file; kUnsupported for others.
Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> ReadDeleteFile(
    const table::Env& env, const iceberg::DataFile& file, std::vector<iceberg::Field> fields);

// The rows of one data file that its delete files delete, or that a later write superseded.
// Immutable, so shared by the file's morsels; what was read from delete files is cached.
class FileDeletes {
 public:
  // kUnsupported naming the file for delete files other than Parquet, and for equality
  // deletes on nested columns.
  static Result<std::shared_ptr<const FileDeletes>> Load(const table::Env& env,
                                                         const iceberg::TableMetadata& metadata,
                                                         const iceberg::Schema& schema,
                                                         const ScanFile& file);

  bool empty() const { return positions_.empty() && equalities_.empty(); }

  // Columns that equality deletes compare, each once.
  const std::vector<iceberg::Field>& columns() const { return columns_; }

  // Whether one of the file's rows [first, end) may be deleted.
  bool MayTouch(int64_t first, int64_t end) const;

  // Takes the deleted ones out of `rows`: ascending row numbers, counted from the file's row
  // `first`. `arrays` are columns() of just these rows.
  Status Remove(int64_t first, const arrow::ArrayVector& arrays, std::vector<uint32_t>* rows) const;

 private:
  using Keys = std::unordered_set<std::string>;
  // Equality deletes over one list of columns.
  struct Equality {
    std::vector<int> ids;
    std::vector<size_t> columns;  // in columns_
    std::vector<std::shared_ptr<const Keys>> deleted;
  };

  Status AddPositions(const table::Env& env, const ScanFile& file);
  Status AddEquality(const table::Env& env, const iceberg::TableMetadata& metadata,
                     const iceberg::Schema& schema, const iceberg::DataFile& deletes);

  std::vector<int64_t> positions_;  // ascending, each once
  std::vector<Equality> equalities_;
  std::vector<iceberg::Field> columns_;
};

}  // namespace timelake::scan

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include <arrow/type_fwd.h>

#include "scan/scan.h"
#include "scan/superseded.h"

namespace timelake::scan {

// A row by what orders it among its like.
struct SeriesRow {
  int32_t series = 0;  // of SeriesIds
  int64_t time = 0;
  int64_t ingest = std::numeric_limits<int64_t>::min();  // also: null
  int64_t position = 0;                                  // in the file
};

// Numbers for series keys. A key that is not there when keys may not be added is kUnknown.
class SeriesIds {
 public:
  static constexpr int32_t kUnknown = -1;

  // One a row; `columns` are the key's, without a column all rows are of one series.
  Status Of(const arrow::ArrayVector& columns, int64_t rows, bool add, std::vector<int32_t>* ids);

  size_t size() const { return ids_.size(); }

 private:
  int32_t Id(const std::string& key, bool add);

  std::unordered_map<std::string, int32_t> ids_;
};

// Rows of a file that follow one another, not deleted.
struct SeriesBatch {
  const std::vector<int32_t>* series = nullptr;  // may be kUnknown
  const arrow::TimestampArray* times = nullptr;
  const arrow::TimestampArray* ingests = nullptr;  // null: no such column
  const std::vector<int64_t>* positions = nullptr;
};

// Which rows of a file are in question.
struct SeriesRowsRequest {
  int64_t first = 0, last = 0;        // times outside of these are left out
  const Predicate* narrow = nullptr;  // pages that it rules out may be
  bool add = false;                   // keys get numbers; else rows of unknown keys are left out
};

// Shows the rows of `file`, in its order, batch by batch; times outside of those wanted are left
// out page by page only.
Status VisitSeriesRows(const table::Env& env, const iceberg::TableMetadata& metadata,
                       const ScanFile& file, const DedupKey& key, const SeriesRowsRequest& wanted,
                       SeriesIds* ids, const std::function<void(const SeriesBatch&)>& visit);

// Rows of `file` that are not deleted and have a wanted time, in the order of the file.
Result<std::vector<SeriesRow>> ReadSeriesRows(const table::Env& env,
                                              const iceberg::TableMetadata& metadata,
                                              const ScanFile& file, const DedupKey& key,
                                              const SeriesRowsRequest& wanted, SeriesIds* ids);

}  // namespace timelake::scan

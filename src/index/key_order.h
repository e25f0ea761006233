#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <arrow/record_batch.h>

#include "iceberg/schema.h"
#include "table/contract.h"

namespace timelake::index {

// Compares rows of two batches in the table's schema. The batches must outlive it.
class RowOrder {
 public:
  static Result<RowOrder> Make(const arrow::RecordBatch& left, const arrow::RecordBatch& right,
                               const iceberg::Schema& schema, const table::Contract& contract);

  // By series key, nulls first; -0.0 and 0.0 are one series.
  int CompareKeys(int64_t left, int64_t right) const;

  // Whether the row of `right`, written later, is the newer one of two rows of one series: by time,
  // at equal times by ingest time, else by the order of writes.
  bool RightIsNewer(int64_t left, int64_t right) const;
  bool SameTime(int64_t left, int64_t right) const {
    return left_time_[left] == right_time_[right];
  }

 private:
  std::vector<std::function<int(int64_t, int64_t)>> keys_;
  const int64_t* left_time_ = nullptr;
  const int64_t* right_time_ = nullptr;
  const int64_t* left_ingest_ = nullptr;  // null: no such column
  const int64_t* right_ingest_ = nullptr;
};

// Position of a column among the schema's fields.
int ColumnOf(const iceberg::Schema& schema, int field_id);

// Where a row of `newer` belongs in `older`.
struct Place {
  int64_t newer = 0;
  int64_t older = 0;     // first row of `older` whose key is not less
  bool matches = false;  // it has the same key
};

// Both batches are ordered by series key, with one row a series.
std::vector<Place> Locate(const RowOrder& order, int64_t older_rows, int64_t newer_rows);

}  // namespace timelake::index

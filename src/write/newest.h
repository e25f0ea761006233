#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/record_batch.h>

#include "write/combine.h"
#include "write/write.h"

namespace timelake::write {

// Some rows as a batch in the table's schema, strings dense.
Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const Target& target, const Rows& rows,
                                                     const std::vector<uint32_t>& positions);

// The newest row of each series of rows that come in parts: holds up to two rows a series, and
// while it puts parts together one column more.
class NewestRows {
 public:
  explicit NewestRows(const Target* target) : target_(target) {}

  // The newest rows of the next part, one a series, in the order of the series key.
  Status Add(std::shared_ptr<arrow::RecordBatch> part);

  // Ordered by series key, nulls first. Empty if nothing was added.
  Result<std::shared_ptr<arrow::RecordBatch>> Finish();

 private:
  Status Reduce();

  const Target* target_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> held_;  // the first: of all parts before
  int64_t held_rows_ = 0;
};

}  // namespace timelake::write

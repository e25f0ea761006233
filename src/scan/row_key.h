#pragma once

#include <string>
#include <vector>

#include <arrow/array/array_base.h>

#include "base/error.h"

namespace timelake::scan {

// Rows of primitive columns as byte strings that are equal exactly for equal rows: nulls equal
// each other, so do NaNs; 0.0 and -0.0 differ, as in the reference implementation. Integers and
// floats count by value, whatever their width, so a promoted column keeps its keys.
class RowKeys {
 public:
  // kUnsupported for nested columns.
  static Result<RowKeys> Make(const std::vector<std::shared_ptr<arrow::Array>>& columns);

  // Replaces `key`.
  void Get(int64_t row, std::string* key) const;

 private:
  struct Column {
    std::shared_ptr<arrow::Array> array;   // as given: says which rows are null
    std::shared_ptr<arrow::Array> values;  // the same, or a dictionary's values
  };
  std::vector<Column> columns_;
};

}  // namespace timelake::scan

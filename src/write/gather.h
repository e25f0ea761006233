#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/array.h>

#include "base/error.h"

namespace timelake::write {

// Some rows in their order, out of Rows::columns.
struct RowSlice {
  const std::vector<uint32_t>* order = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
  bool in_place = false;  // (*order)[i] is i
};

// The rows' values of one column. A dictionary keeps only the values that these rows use, in the
// order of their first use, if `keep_dictionary`; else strings become dense.
Result<std::shared_ptr<arrow::Array>> GatherColumn(const std::shared_ptr<arrow::Array>& column,
                                                   const RowSlice& rows, bool keep_dictionary);

// The same where strings must be dictionary(int32, utf8) exactly if `dictionary` is set, whatever
// the column has.
Result<std::shared_ptr<arrow::Array>> GatherAs(const std::shared_ptr<arrow::Array>& column,
                                               const RowSlice& rows, bool dictionary);

}  // namespace timelake::write

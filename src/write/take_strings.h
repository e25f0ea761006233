#pragma once

#include <memory>

#include <arrow/array.h>

#include "base/error.h"

namespace timelake::write {

// The strings at these positions; null where the position or the string is. As Arrow's Take does
// it, without what calling a kernel costs: appends of a few rows have dozens of columns.
Result<std::shared_ptr<arrow::Array>> TakeStrings(const arrow::StringArray& strings,
                                                  const arrow::Int32Array& positions);

}  // namespace timelake::write

#pragma once

#include <cstdint>

#include <arrow/array.h>

#include "iceberg/value.h"

namespace timelake::write {

// One value of a primitive column in the Arrow type of iceberg::ToArrow (or a dictionary of
// strings).
iceberg::Value ValueAt(const arrow::Array& array, int64_t position);

}  // namespace timelake::write

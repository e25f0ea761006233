#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <arrow/array.h>

#include "base/error.h"
#include "iceberg/schema.h"

namespace timelake::write {

// Where values come from, for messages.
struct Place {
  std::string table;
  std::string column;                      // path: "tags", "tags.key"
  std::function<int64_t(int64_t)> row_of;  // position in the array -> row of the append, from 1
  std::string unit = "row";                // what row_of counts: "row", "line"

  Place Child(const std::string& name, std::function<int64_t(int64_t)> parent_of) const;
  std::string At(int64_t position) const;  // table ns.t, column "v", row 17
  std::string Whole() const;               // table ns.t, column "v"
};

// The array as the Arrow type that iceberg::ToArrow gives for `type`. Every value arrives unchanged
// or the call fails: a value that would be lost, rounded, cut or turned into null is
// kInvalidArgument naming table, column, row, the value and what is accepted. Nested fields are
// matched by exact name. With `keep_dictionary` a dictionary of strings stays one, as
// dictionary(int32, utf8) without nulls among its values.
Result<std::shared_ptr<arrow::Array>> Convert(const Place& place,
                                              const std::shared_ptr<arrow::Array>& array,
                                              const iceberg::Type& type, bool keep_dictionary);

// --- steps of Convert, one per file ---

// Without extension types, dictionaries, run-end encoding, views and 64-bit offsets (nested types:
// at the top only).
Result<std::shared_ptr<arrow::Array>> Unwrap(const Place& place,
                                             const std::shared_ptr<arrow::Array>& array);

// `array` is unwrapped.
Result<std::shared_ptr<arrow::Array>> ConvertNumber(const Place& place, const arrow::Array& array,
                                                    const iceberg::Type& type);
Result<std::shared_ptr<arrow::Array>> ConvertTime(const Place& place, const arrow::Array& array,
                                                  const iceberg::Type& type);
Result<std::shared_ptr<arrow::Array>> ConvertText(const Place& place,
                                                  const std::shared_ptr<arrow::Array>& array,
                                                  const iceberg::Type& type);
Result<std::shared_ptr<arrow::Array>> ConvertNested(const Place& place,
                                                    const std::shared_ptr<arrow::Array>& array,
                                                    const iceberg::Type& type);

// Error if a non-null string of a StringArray is not UTF-8.
Status CheckUtf8(const Place& place, const arrow::StringArray& strings);

// "column is int, the data is bool; accepted are ...".
Status TypeMismatch(const Place& place, const arrow::DataType& from, const iceberg::Type& type);
// "<place>: <value> does not fit in int: <why>; accepted are ...".
Status Misfit(const Place& place, const arrow::Array& array, int64_t position,
              const iceberg::Type& type, std::string_view why);

// Validity bitmap of `array` from bit 0 on; null when there are no nulls.
Result<std::shared_ptr<arrow::Buffer>> ValidityOf(const arrow::Array& array);

}  // namespace timelake::write

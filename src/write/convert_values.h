#pragma once

#include <memory>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/util/decimal.h>

#include "write/convert.h"

// Loops shared by the converters.

namespace timelake::write {

// Applies `convert(value, &out)` to the non-null values of `array`; it returns why a value does not
// fit, or null. `Out` is the value in memory of the fixed-width type `out_type`.
template <typename Out, typename Array, typename Fn>
Result<std::shared_ptr<arrow::Array>> MapValues(const Place& place, const Array& array,
                                                const iceberg::Type& type,
                                                std::shared_ptr<arrow::DataType> out_type,
                                                Fn&& convert) {
  const int64_t length = array.length();
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                     arrow::AllocateBuffer(length * static_cast<int64_t>(sizeof(Out))));
  Out* out = reinterpret_cast<Out*>(values->mutable_data());
  const bool has_nulls = array.null_count() > 0;
  for (int64_t i = 0; i < length; ++i) {
    out[i] = Out{};
    if (has_nulls && array.IsNull(i)) continue;
    if (const char* why = convert(array.GetView(i), &out[i])) {
      return Misfit(place, array, i, type, why);
    }
  }
  TL_ASSIGN_OR_RAISE(auto validity, ValidityOf(array));
  return arrow::MakeArray(arrow::ArrayData::Make(
      std::move(out_type), length, {std::move(validity), std::move(values)}, array.null_count()));
}

// Calls `f` with the array as its concrete type, or returns `otherwise()`.
template <typename F, typename G>
auto VisitNumbers(const arrow::Array& array, F&& f, G&& otherwise) -> decltype(otherwise()) {
  switch (array.type_id()) {
    case arrow::Type::INT8: return f(static_cast<const arrow::Int8Array&>(array));
    case arrow::Type::INT16: return f(static_cast<const arrow::Int16Array&>(array));
    case arrow::Type::INT32: return f(static_cast<const arrow::Int32Array&>(array));
    case arrow::Type::INT64: return f(static_cast<const arrow::Int64Array&>(array));
    case arrow::Type::UINT8: return f(static_cast<const arrow::UInt8Array&>(array));
    case arrow::Type::UINT16: return f(static_cast<const arrow::UInt16Array&>(array));
    case arrow::Type::UINT32: return f(static_cast<const arrow::UInt32Array&>(array));
    case arrow::Type::UINT64: return f(static_cast<const arrow::UInt64Array&>(array));
    case arrow::Type::FLOAT: return f(static_cast<const arrow::FloatArray&>(array));
    case arrow::Type::DOUBLE: return f(static_cast<const arrow::DoubleArray&>(array));
    default: return otherwise();
  }
}

inline constexpr char kOutOfRange[] = "it is outside the range";
inline constexpr char kNotWhole[] = "it is not a whole number";

}  // namespace timelake::write

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "iceberg/arrow_schema.h"
#include "write/convert_values.h"

// Values for int, long, float, double and decimal columns.

namespace timelake::write {
namespace {

using arrow::Decimal128;
using iceberg::TypeId;

constexpr char kNotANumber[] = "it is not a number";
constexpr char kRounded[] = "it would be rounded";

// --- to int and long ---

template <typename Out, typename In>
const char* WholeFromNumber(In value, Out* out) {
  if constexpr (std::is_integral_v<In>) {
    if (!std::in_range<Out>(value)) return kOutOfRange;
  } else {
    // Both ends are powers of two, so exact in every floating-point type.
    constexpr In kEnd = -static_cast<In>(std::numeric_limits<Out>::min());
    if (std::trunc(value) != value) return kNotWhole;  // NaN, too
    if (!(value >= -kEnd && value < kEnd)) return kOutOfRange;
  }
  *out = static_cast<Out>(value);
  return nullptr;
}

template <typename Out>
const char* WholeFromText(std::string_view text, Out* out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *out);
  if (text.empty() || stop != end) return kNotWhole;
  return error == std::errc() ? nullptr : kOutOfRange;
}

template <typename Out>
const char* WholeFromDecimal(const Decimal128& value, int scale, Out* out) {
  auto whole = value.Rescale(scale, 0);
  if (!whole.ok()) return kNotWhole;
  auto integer = whole->ToInteger<Out>();
  if (!integer.ok()) return kOutOfRange;
  *out = *integer;
  return nullptr;
}

// --- to float and double ---

template <typename Out, typename In>
const char* FloatFromNumber(In value, Out* out) {
  *out = static_cast<Out>(value);
  if constexpr (std::is_integral_v<In>) {
    // The largest In may round up to a power of two that In does not hold.
    const Out end = std::ldexp(Out{1}, std::numeric_limits<In>::digits);
    return *out < end && static_cast<In>(*out) == value ? nullptr : kRounded;
  } else {
    return std::isnan(value) || static_cast<In>(*out) == value ? nullptr : kRounded;
  }
}

template <typename Out>
const char* FloatFromText(std::string_view text, Out* out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *out);
  if (text.empty() || stop != end) return kNotANumber;
  return error == std::errc() ? nullptr : kOutOfRange;
}

// As text: the nearest number. With more digits than any float tells apart it would be rounded.
template <typename Out>
const char* FloatFromDecimal(const Decimal128& value, int scale, Out* out) {
  std::string digits = Decimal128(Decimal128::Abs(value)).ToIntegerString();
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.size() > static_cast<size_t>(std::numeric_limits<Out>::digits10)) return kRounded;
  return FloatFromText(value.ToString(scale), out);
}

// --- to decimal ---

const char* FitDecimal(const Decimal128& value, int scale, const iceberg::Type& type,
                       Decimal128* out) {
  auto rescaled = value.Rescale(scale, type.scale);
  if (!rescaled.ok()) {
    return scale > type.scale ? "it has more digits after the point" : kOutOfRange;
  }
  if (!rescaled->FitsInPrecision(type.precision)) return kOutOfRange;
  *out = *rescaled;
  return nullptr;
}

const char* DecimalFromText(std::string_view text, const iceberg::Type& type, Decimal128* out) {
  Decimal128 value;
  int32_t precision = 0, scale = 0;
  if (!Decimal128::FromString(text, &value, &precision, &scale).ok()) return kNotANumber;
  return FitDecimal(value, scale, type, out);
}

// A float stands for the shortest decimal that reads back as the same float.
template <typename In>
const char* DecimalFromNumber(In value, const iceberg::Type& type, Decimal128* out) {
  if constexpr (std::is_floating_point_v<In>) {
    if (!std::isfinite(value)) return kNotANumber;
  }
  char text[40];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return DecimalFromText(std::string_view(text, static_cast<size_t>(end - text)), type, out);
}

// --- decimals of any width as Decimal128 ---

Result<std::shared_ptr<arrow::Array>> WidenDecimal(const Place& place, const arrow::Array& array,
                                                   const iceberg::Type& type) {
  const int scale = static_cast<const arrow::DecimalType&>(*array.type()).scale();
  const auto wide = arrow::decimal128(38, scale);
  const auto widen = [&](const auto& decimals, auto read) {
    return MapValues<Decimal128>(place, decimals, type, wide,
                                 [&](std::string_view bytes, Decimal128* out) -> const char* {
                                   return read(reinterpret_cast<const uint8_t*>(bytes.data()), out);
                                 });
  };
  switch (array.type_id()) {
    case arrow::Type::DECIMAL32:
      return widen(static_cast<const arrow::Decimal32Array&>(array),
                   [](const uint8_t* bytes, Decimal128* out) -> const char* {
                     *out = Decimal128(arrow::Decimal32(bytes).value());
                     return nullptr;
                   });
    case arrow::Type::DECIMAL64:
      return widen(static_cast<const arrow::Decimal64Array&>(array),
                   [](const uint8_t* bytes, Decimal128* out) -> const char* {
                     *out = Decimal128(arrow::Decimal64(bytes).value());
                     return nullptr;
                   });
    case arrow::Type::DECIMAL128:
      return widen(static_cast<const arrow::Decimal128Array&>(array),
                   [](const uint8_t* bytes, Decimal128* out) -> const char* {
                     *out = Decimal128(bytes);
                     return nullptr;
                   });
    default:
      return widen(static_cast<const arrow::Decimal256Array&>(array),
                   [](const uint8_t* bytes, Decimal128* out) -> const char* {
                     auto value =
                         Decimal128::FromString(arrow::Decimal256(bytes).ToIntegerString());
                     if (!value.ok()) return kOutOfRange;
                     *out = *value;
                     return nullptr;
                   });
  }
}

// Applies one of three functions by the kind of the data.
template <typename Out, typename FromNumber, typename FromText, typename FromDecimal>
Result<std::shared_ptr<arrow::Array>> MapNumbers(const Place& place, const arrow::Array& array,
                                                 const iceberg::Type& type,
                                                 FromNumber&& from_number, FromText&& from_text,
                                                 FromDecimal&& from_decimal) {
  const auto out_type = iceberg::ToArrow(type);
  if (array.type_id() == arrow::Type::STRING) {
    return MapValues<Out>(place, static_cast<const arrow::StringArray&>(array), type, out_type,
                          from_text);
  }
  if (arrow::is_decimal(array.type_id())) {
    TL_ASSIGN_OR_RAISE(auto wide, WidenDecimal(place, array, type));
    const int scale = static_cast<const arrow::DecimalType&>(*wide->type()).scale();
    return MapValues<Out>(place, static_cast<const arrow::Decimal128Array&>(*wide), type, out_type,
                          [&](std::string_view bytes, Out* out) -> const char* {
                            const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
                            return from_decimal(Decimal128(data), scale, out);
                          });
  }
  return VisitNumbers(
      array,
      [&](const auto& numbers) {
        return MapValues<Out>(place, numbers, type, out_type, from_number);
      },
      [&]() -> Result<std::shared_ptr<arrow::Array>> {
        return TypeMismatch(place, *array.type(), type);
      });
}

template <typename Out>
Result<std::shared_ptr<arrow::Array>> ToWhole(const Place& place, const arrow::Array& array,
                                              const iceberg::Type& type) {
  return MapNumbers<Out>(
      place, array, type, [](auto value, Out* out) { return WholeFromNumber(value, out); },
      [](std::string_view text, Out* out) { return WholeFromText(text, out); },
      [](const Decimal128& value, int scale, Out* out) {
        return WholeFromDecimal(value, scale, out);
      });
}

template <typename Out>
Result<std::shared_ptr<arrow::Array>> ToFloat(const Place& place, const arrow::Array& array,
                                              const iceberg::Type& type) {
  return MapNumbers<Out>(
      place, array, type, [](auto value, Out* out) { return FloatFromNumber(value, out); },
      [](std::string_view text, Out* out) { return FloatFromText(text, out); },
      [](const Decimal128& value, int scale, Out* out) {
        return FloatFromDecimal(value, scale, out);
      });
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> ConvertNumber(const Place& place, const arrow::Array& array,
                                                    const iceberg::Type& type) {
  switch (type.id) {
    case TypeId::kInt: return ToWhole<int32_t>(place, array, type);
    case TypeId::kLong: return ToWhole<int64_t>(place, array, type);
    case TypeId::kFloat: return ToFloat<float>(place, array, type);
    case TypeId::kDouble: return ToFloat<double>(place, array, type);
    default: break;
  }
  return MapNumbers<Decimal128>(
      place, array, type,
      [&](auto value, Decimal128* out) { return DecimalFromNumber(value, type, out); },
      [&](std::string_view text, Decimal128* out) { return DecimalFromText(text, type, out); },
      [&](const Decimal128& value, int scale, Decimal128* out) {
        return FitDecimal(value, scale, type, out);
      });
}

}  // namespace timelake::write

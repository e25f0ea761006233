#include "iceberg/value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/civil_time.h"
#include "base/decimal_bytes.h"
#include "base/uuid.h"

namespace timelake::iceberg {
namespace {

template <typename T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

// NaN above everything and equal to itself, whatever its sign and payload; -0.0 below 0.0.
int CompareDoubles(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return Order(std::isnan(a), std::isnan(b));
  if (a == 0 && b == 0) return Order(!std::signbit(a), !std::signbit(b));
  return Order(a, b);
}

const int64_t* AsInt64(const Value& value, int64_t* storage) {
  if (auto small = std::get_if<int32_t>(&value)) {
    *storage = *small;
    return storage;
  }
  return std::get_if<int64_t>(&value);
}

const double* AsDouble(const Value& value, double* storage) {
  if (auto small = std::get_if<float>(&value)) {
    *storage = *small;
    return storage;
  }
  return std::get_if<double>(&value);
}

// Appendix D: numbers little-endian, whatever the machine.
template <typename T>
std::string LittleEndian(T value) {
  std::make_unsigned_t<T> bits = static_cast<std::make_unsigned_t<T>>(value);
  std::string bytes(sizeof(T), '\0');
  for (size_t i = 0; i < sizeof(T); ++i) bytes[i] = static_cast<char>((bits >> (8 * i)) & 0xFF);
  return bytes;
}

template <typename T>
T FromLittleEndian(std::string_view bytes) {
  std::make_unsigned_t<T> bits = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    bits |= static_cast<std::make_unsigned_t<T>>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return static_cast<T>(bits);
}

template <typename To, typename From>
To Bits(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To out;
  std::memcpy(&out, &value, sizeof(out));
  return out;
}

// 12:34:56 with the fraction digits that it needs, 0, 3 or 6, as FormatTimestamp does.
std::string TimeOfDayText(int64_t micros) {
  if (micros < 0 || micros >= kMicrosPerDay) return fmt::format("{} us", micros);
  const std::string stamp = FormatTimestamp(micros, false);
  return stamp.substr(stamp.find('T') + 1);
}

// Without an exponent, which Arrow's text of small decimals has.
std::string DecimalText(const arrow::Decimal128& unscaled, int scale) {
  std::string digits = unscaled.ToIntegerString();
  if (scale <= 0) return digits;
  const bool negative = digits[0] == '-';
  if (negative) digits.erase(0, 1);
  const size_t fraction = static_cast<size_t>(scale);
  if (digits.size() <= fraction) digits.insert(0, fraction + 1 - digits.size(), '0');
  digits.insert(digits.size() - fraction, 1, '.');
  return (negative ? "-" : "") + digits;
}

template <typename T>
std::string FloatText(T value) {
  if (std::isnan(value)) return "NaN";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".ein") == std::string::npos) text += ".0";
  return text;
}

std::string HexText(std::string_view bytes) {
  std::string text;
  for (unsigned char c : bytes) text += fmt::format("{:02x}", c);
  return text;
}

std::string BytesText(const Type& type, const std::string& bytes) {
  if (type.id == TypeId::kString) {
    std::string text = "'";
    for (char c : bytes) text += c == '\'' ? std::string("''") : std::string(1, c);
    return text + "'";
  }
  if (type.id == TypeId::kUuid && bytes.size() == 16) {
    Uuid uuid;
    std::copy(bytes.begin(), bytes.end(), uuid.bytes.begin());
    return FormatUuid(uuid);
  }
  return HexText(bytes);
}

std::string Int64Text(const Type& type, int64_t value) {
  switch (type.id) {
    case TypeId::kDate: return DayLabel(value);
    case TypeId::kTime: return TimeOfDayText(value);
    case TypeId::kTimestamp: return FormatTimestamp(value, false);
    case TypeId::kTimestamptz: return FormatTimestamp(value, true);
    default: return fmt::format("{}", value);
  }
}

Status WrongValue(const Type& type, const Value& value) {
  if (IsNull(value)) return InvalidArgument("a null has no bytes (type {})", TypeName(type));
  return InvalidArgument("value {} is not of type {}", ToText(type, value), TypeName(type));
}

Status WrongLength(const Type& type, std::string_view bytes) {
  return Corrupt("{} bytes (0x{}) are not a value of type {}", bytes.size(),
                 HexText(bytes.substr(0, 24)), TypeName(type));
}

}  // namespace

int Compare(const Value& a, const Value& b) {
  int64_t int_a, int_b;
  double double_a, double_b;
  if (auto x = AsInt64(a, &int_a)) {
    if (auto y = AsInt64(b, &int_b)) return Order(*x, *y);
  } else if (auto u = AsDouble(a, &double_a)) {
    if (auto v = AsDouble(b, &double_b)) return CompareDoubles(*u, *v);
  }
  if (a.index() != b.index()) return Order(a.index(), b.index());
  if (auto x = std::get_if<std::string>(&a)) {
    // compare() goes by unsigned bytes (std::char_traits<char>), as the specification orders text.
    const int order = x->compare(std::get<std::string>(b));
    return order < 0 ? -1 : (order > 0 ? 1 : 0);
  }
  if (auto x = std::get_if<bool>(&a)) return Order(*x, std::get<bool>(b));
  if (auto x = std::get_if<arrow::Decimal128>(&a)) return Order(*x, std::get<arrow::Decimal128>(b));
  return 0;
}

Result<std::string> ToBytes(const Type& type, const Value& value) {
  int64_t integer;
  double real;
  switch (type.id) {
    case TypeId::kBoolean:
      if (auto x = std::get_if<bool>(&value)) return std::string(1, *x ? '\1' : '\0');
      break;
    case TypeId::kInt:
    case TypeId::kDate:
      if (auto x = std::get_if<int32_t>(&value)) return LittleEndian(*x);
      break;
    case TypeId::kLong:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
      if (auto x = AsInt64(value, &integer)) return LittleEndian(*x);
      break;
    case TypeId::kFloat:
      if (auto x = std::get_if<float>(&value)) return LittleEndian(Bits<int32_t>(*x));
      break;
    case TypeId::kDouble:
      if (auto x = AsDouble(value, &real)) return LittleEndian(Bits<int64_t>(*x));
      break;
    case TypeId::kDecimal:
      if (auto x = std::get_if<arrow::Decimal128>(&value)) return DecimalToBytes(*x);
      break;
    case TypeId::kUuid:
      if (auto x = std::get_if<std::string>(&value); x && x->size() == 16) return *x;
      break;
    case TypeId::kString:
    case TypeId::kFixed:
    case TypeId::kBinary:
      if (auto x = std::get_if<std::string>(&value)) return *x;
      break;
    default: return InvalidArgument("type {} has no single values", TypeName(type));
  }
  return WrongValue(type, value);
}

Result<Value> FromBytes(const Type& type, std::string_view bytes) {
  const size_t size = bytes.size();
  switch (type.id) {
    case TypeId::kBoolean:
      if (size == 1) return Value(bytes[0] != '\0');
      break;
    case TypeId::kInt:
    case TypeId::kDate:
      if (size == 4) return Value(FromLittleEndian<int32_t>(bytes));
      break;
    case TypeId::kLong:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
      if (size == 8) return Value(FromLittleEndian<int64_t>(bytes));
      // Written while the column was an int.
      if (size == 4 && type.id == TypeId::kLong) {
        return Value(int64_t{FromLittleEndian<int32_t>(bytes)});
      }
      break;
    case TypeId::kFloat:
      if (size == 4) return Value(Bits<float>(FromLittleEndian<int32_t>(bytes)));
      break;
    case TypeId::kDouble:
      if (size == 8) return Value(Bits<double>(FromLittleEndian<int64_t>(bytes)));
      // Written while the column was a float.
      if (size == 4) return Value(double{Bits<float>(FromLittleEndian<int32_t>(bytes))});
      break;
    case TypeId::kDecimal:
      if (size >= 1 && size <= 16) {
        TL_ASSIGN_OR_RAISE(arrow::Decimal128 unscaled, DecimalFromBytes(bytes));
        return Value(unscaled);
      }
      break;
    case TypeId::kUuid:
      if (size == 16) return Value(std::string(bytes));
      break;
    case TypeId::kFixed:
      // A cut bound may be shorter than the type.
      if (size <= static_cast<size_t>(std::max(type.length, 0))) return Value(std::string(bytes));
      break;
    case TypeId::kString:
      // Not checked to be UTF-8: other writers cut bounds inside a character, and bounds compare
      // by bytes.
    case TypeId::kBinary: return Value(std::string(bytes));
    default: return Corrupt("type {} has no single values", TypeName(type));
  }
  return WrongLength(type, bytes);
}

std::string ToText(const Type& type, const Value& value) {
  return std::visit(
      [&type](const auto& x) -> std::string {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "null";
        } else if constexpr (std::is_same_v<T, bool>) {
          return x ? "true" : "false";
        } else if constexpr (std::is_integral_v<T>) {
          return Int64Text(type, x);
        } else if constexpr (std::is_floating_point_v<T>) {
          return FloatText(x);
        } else if constexpr (std::is_same_v<T, arrow::Decimal128>) {
          return DecimalText(x, type.id == TypeId::kDecimal ? type.scale : 0);
        } else {
          return BytesText(type, x);
        }
      },
      value);
}

}  // namespace timelake::iceberg

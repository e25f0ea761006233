#include <cstdint>
#include <string>

#include "base/civil_time.h"
#include "iceberg/arrow_schema.h"
#include "write/convert_values.h"

// Values for date, time, timestamp and timestamptz columns.

namespace timelake::write {
namespace {

using arrow::Type;
using iceberg::TypeId;

constexpr char kPrecision[] = "precision would be lost";
constexpr char kTimeOfDay[] = "it has a time of day";
constexpr char kBadText[] = "it is not an ISO 8601 time, or finer than a microsecond";

bool IsTimestamp(const iceberg::Type& type) {
  return type.id == TypeId::kTimestamp || type.id == TypeId::kTimestamptz;
}

const char* ToMicros(int64_t value, arrow::TimeUnit::type unit, int64_t* out) {
  if (unit == arrow::TimeUnit::NANO) {
    if (value % 1000 != 0) return kPrecision;
    *out = value / 1000;  // exact
    return nullptr;
  }
  const int64_t factor = unit == arrow::TimeUnit::SECOND  ? kMicrosPerSecond
                         : unit == arrow::TimeUnit::MILLI ? kMicrosPerMilli
                                                          : 1;
  return __builtin_mul_overflow(value, factor, out) ? kOutOfRange : nullptr;
}

const char* DaysToMicros(int64_t days, int64_t* out) {
  return __builtin_mul_overflow(days, kMicrosPerDay, out) ? kOutOfRange : nullptr;
}

const char* MicrosToDays(int64_t micros, int32_t* out) {
  if (FloorMod(micros, kMicrosPerDay) != 0) return kTimeOfDay;
  *out = static_cast<int32_t>(DaysFromMicros(micros));
  return nullptr;
}

// --- texts ---

const char* TimestampFromText(std::string_view text, bool zoned, int64_t* out) {
  auto parsed = ParseTimestamp(text);
  if (!parsed.ok()) return kBadText;
  if (parsed->zoned && !zoned) return "it names an offset, the column has no zone";
  *out = parsed->micros;
  return nullptr;
}

const char* DateFromText(std::string_view text, int32_t* out) {
  int64_t micros = 0;
  if (const char* why = TimestampFromText(text, false, &micros)) return why;
  return MicrosToDays(micros, out);
}

const char* TimeFromText(std::string_view text, int64_t* out) {
  return TimestampFromText("1970-01-01T" + std::string(text), false, out);
}

// --- one target type each ---

Result<std::shared_ptr<arrow::Array>> ToTimestamp(const Place& place, const arrow::Array& array,
                                                  const iceberg::Type& type) {
  const auto out_type = iceberg::ToArrow(type);
  const bool zoned = type.id == TypeId::kTimestamptz;
  switch (array.type_id()) {
    case Type::TIMESTAMP: {
      const auto& from = static_cast<const arrow::TimestampType&>(*array.type());
      if (!from.timezone().empty() && !zoned) break;
      return MapValues<int64_t>(
          place, static_cast<const arrow::TimestampArray&>(array), type, out_type,
          [&](int64_t value, int64_t* out) { return ToMicros(value, from.unit(), out); });
    }
    case Type::DATE32:
      return MapValues<int64_t>(place, static_cast<const arrow::Date32Array&>(array), type,
                                out_type,
                                [](int32_t days, int64_t* out) { return DaysToMicros(days, out); });
    case Type::DATE64:
      return MapValues<int64_t>(place, static_cast<const arrow::Date64Array&>(array), type,
                                out_type, [](int64_t millis, int64_t* out) {
                                  return ToMicros(millis, arrow::TimeUnit::MILLI, out);
                                });
    case Type::STRING:
      return MapValues<int64_t>(
          place, static_cast<const arrow::StringArray&>(array), type, out_type,
          [&](std::string_view text, int64_t* out) { return TimestampFromText(text, zoned, out); });
    default: break;
  }
  return TypeMismatch(place, *array.type(), type);
}

Result<std::shared_ptr<arrow::Array>> ToDate(const Place& place, const arrow::Array& array,
                                             const iceberg::Type& type) {
  const auto out_type = arrow::date32();
  switch (array.type_id()) {
    case Type::DATE64:
      return MapValues<int32_t>(
          place, static_cast<const arrow::Date64Array&>(array), type, out_type,
          [](int64_t millis, int32_t* out) -> const char* {
            int64_t micros = 0;
            if (const char* why = ToMicros(millis, arrow::TimeUnit::MILLI, &micros)) {
              return why;
            }
            return MicrosToDays(micros, out);
          });
    case Type::TIMESTAMP: {
      const auto unit = static_cast<const arrow::TimestampType&>(*array.type()).unit();
      return MapValues<int32_t>(place, static_cast<const arrow::TimestampArray&>(array), type,
                                out_type, [&](int64_t value, int32_t* out) -> const char* {
                                  int64_t micros = 0;
                                  if (const char* why = ToMicros(value, unit, &micros)) return why;
                                  return MicrosToDays(micros, out);
                                });
    }
    case Type::STRING:
      return MapValues<int32_t>(
          place, static_cast<const arrow::StringArray&>(array), type, out_type,
          [](std::string_view text, int32_t* out) { return DateFromText(text, out); });
    default: return TypeMismatch(place, *array.type(), type);
  }
}

Result<std::shared_ptr<arrow::Array>> ToTime(const Place& place, const arrow::Array& array,
                                             const iceberg::Type& type) {
  const auto out_type = iceberg::ToArrow(type);
  const auto in_day = [](int64_t value, arrow::TimeUnit::type unit, int64_t* out) -> const char* {
    if (const char* why = ToMicros(value, unit, out)) return why;
    return *out >= 0 && *out < kMicrosPerDay ? nullptr : kOutOfRange;
  };
  switch (array.type_id()) {
    case Type::TIME32: {
      const auto unit = static_cast<const arrow::Time32Type&>(*array.type()).unit();
      return MapValues<int64_t>(
          place, static_cast<const arrow::Time32Array&>(array), type, out_type,
          [&](int32_t value, int64_t* out) { return in_day(value, unit, out); });
    }
    case Type::TIME64: {
      const auto unit = static_cast<const arrow::Time64Type&>(*array.type()).unit();
      return MapValues<int64_t>(
          place, static_cast<const arrow::Time64Array&>(array), type, out_type,
          [&](int64_t value, int64_t* out) { return in_day(value, unit, out); });
    }
    case Type::STRING:
      return MapValues<int64_t>(
          place, static_cast<const arrow::StringArray&>(array), type, out_type,
          [](std::string_view text, int64_t* out) { return TimeFromText(text, out); });
    default: return TypeMismatch(place, *array.type(), type);
  }
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> ConvertTime(const Place& place, const arrow::Array& array,
                                                  const iceberg::Type& type) {
  if (IsTimestamp(type)) return ToTimestamp(place, array, type);
  return type.id == TypeId::kDate ? ToDate(place, array, type) : ToTime(place, array, type);
}

}  // namespace timelake::write

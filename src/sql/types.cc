#include "sql/types.h"

#include <array>
#include <string>
#include <utility>

#include <duckdb/common/types/hugeint.hpp>
#include <duckdb/common/types/timestamp.hpp>
#include <duckdb/common/types/value.hpp>

#include "base/error.h"
#include "sql/uuid_order.h"

namespace timelake::sql {

namespace {

using duckdb::LogicalType;
using iceberg::TypeId;

LogicalType StructType(const iceberg::Type& type) {
  duckdb::child_list_t<LogicalType> children;
  for (const iceberg::Field& field : type.fields) {
    children.emplace_back(field.name, ToLogicalType(field.type));
  }
  return LogicalType::STRUCT(std::move(children));
}

arrow::Decimal128 ToDecimal(const duckdb::Value& value) {
  // The physical type depends on the width; GetValueUnsafe reads it unscaled.
  switch (value.type().InternalType()) {
    case duckdb::PhysicalType::INT16: return arrow::Decimal128(value.GetValueUnsafe<int16_t>());
    case duckdb::PhysicalType::INT32: return arrow::Decimal128(value.GetValueUnsafe<int32_t>());
    case duckdb::PhysicalType::INT64: return arrow::Decimal128(value.GetValueUnsafe<int64_t>());
    default: {
      const auto huge = value.GetValueUnsafe<duckdb::hugeint_t>();
      return arrow::Decimal128(huge.upper, huge.lower);
    }
  }
}

duckdb::Value FromDecimal(const arrow::Decimal128& value, const iceberg::Type& type) {
  const auto width = static_cast<uint8_t>(type.precision);
  const auto scale = static_cast<uint8_t>(type.scale);
  // The physical type depends on the width.
  if (width <= 4)
    return duckdb::Value::DECIMAL(static_cast<int16_t>(value.low_bits()), width, scale);
  if (width <= 9)
    return duckdb::Value::DECIMAL(static_cast<int32_t>(value.low_bits()), width, scale);
  if (width <= 18)
    return duckdb::Value::DECIMAL(static_cast<int64_t>(value.low_bits()), width, scale);
  const duckdb::hugeint_t huge(value.high_bits(), value.low_bits());
  return duckdb::Value::DECIMAL(huge, width, scale);
}

// `value` has the column's type and is not NULL.
std::optional<iceberg::Value> SameType(const duckdb::Value& value, TypeId id) {
  switch (id) {
    case TypeId::kBoolean: return iceberg::Value(value.GetValueUnsafe<bool>());
    case TypeId::kInt: return iceberg::Value(value.GetValueUnsafe<int32_t>());
    case TypeId::kDate: return iceberg::Value(value.GetValueUnsafe<duckdb::date_t>().days);
    case TypeId::kLong: return iceberg::Value(value.GetValueUnsafe<int64_t>());
    case TypeId::kTime: return iceberg::Value(value.GetValueUnsafe<duckdb::dtime_t>().micros);
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
      return iceberg::Value(value.GetValueUnsafe<duckdb::timestamp_t>().value);
    case TypeId::kFloat: return iceberg::Value(value.GetValueUnsafe<float>());
    case TypeId::kDouble: return iceberg::Value(value.GetValueUnsafe<double>());
    case TypeId::kDecimal: return iceberg::Value(ToDecimal(value));
    case TypeId::kString:
    case TypeId::kFixed:
    case TypeId::kBinary: return iceberg::Value(std::string(duckdb::StringValue::Get(value)));
    case TypeId::kUuid: {
      std::array<char, 16> bytes;
      UuidToBytes(value.GetValueUnsafe<duckdb::hugeint_t>(), bytes.data());
      return iceberg::Value(std::string(bytes.data(), bytes.size()));
    }
    default: return std::nullopt;
  }
}

}  // namespace

LogicalType ToLogicalType(const iceberg::Type& type) {
  switch (type.id) {
    case TypeId::kBoolean: return LogicalType::BOOLEAN;
    case TypeId::kInt: return LogicalType::INTEGER;
    case TypeId::kLong: return LogicalType::BIGINT;
    case TypeId::kFloat: return LogicalType::FLOAT;
    case TypeId::kDouble: return LogicalType::DOUBLE;
    case TypeId::kDecimal:
      return LogicalType::DECIMAL(static_cast<uint8_t>(type.precision),
                                  static_cast<uint8_t>(type.scale));
    case TypeId::kDate: return LogicalType::DATE;
    case TypeId::kTime: return LogicalType::TIME;
    case TypeId::kTimestamp: return LogicalType::TIMESTAMP;
    case TypeId::kTimestamptz: return LogicalType::TIMESTAMP_TZ;
    case TypeId::kString: return LogicalType::VARCHAR;
    case TypeId::kUuid: return LogicalType::UUID;
    case TypeId::kFixed:
    case TypeId::kBinary: return LogicalType::BLOB;
    case TypeId::kStruct: return StructType(type);
    case TypeId::kList: return LogicalType::LIST(ToLogicalType(type.fields[0].type));
    case TypeId::kMap:
      return LogicalType::MAP(ToLogicalType(type.fields[0].type),
                              ToLogicalType(type.fields[1].type));
  }
  return LogicalType::INVALID;
}

std::optional<iceberg::Value> ToIcebergValue(const duckdb::Value& constant,
                                             const iceberg::Type& type) {
  if (!type.is_primitive() || constant.IsNull()) return std::nullopt;
  const LogicalType wanted = ToLogicalType(type);
  if (constant.type() == wanted) return SameType(constant, type.id);
  // There and back again without a difference. Numbers only: other casts can depend on the zone.
  if (!constant.type().IsNumeric() || !wanted.IsNumeric()) return std::nullopt;
  duckdb::Value cast, back;
  duckdb::string error;
  if (!constant.DefaultTryCastAs(wanted, cast, &error, true) || cast.IsNull()) return std::nullopt;
  if (!cast.DefaultTryCastAs(constant.type(), back, &error, true)) return std::nullopt;
  if (!duckdb::Value::NotDistinctFrom(back, constant)) return std::nullopt;
  return SameType(cast, type.id);
}

std::optional<duckdb::Value> ToDuckDbValue(const iceberg::Value& value, const iceberg::Type& type) {
  using duckdb::Value;
  const auto number = [&]<typename T>(T) { return std::get_if<T>(&value); };
  switch (type.id) {
    case TypeId::kBoolean:
      if (const auto* b = number(bool())) return Value::BOOLEAN(*b);
      break;
    case TypeId::kInt:
      if (const auto* i = number(int32_t())) return Value::INTEGER(*i);
      break;
    case TypeId::kDate:
      if (const auto* i = number(int32_t())) return Value::DATE(duckdb::date_t(*i));
      break;
    case TypeId::kLong:
      if (const auto* i = number(int64_t())) return Value::BIGINT(*i);
      break;
    case TypeId::kTime:
      if (const auto* i = number(int64_t())) return Value::TIME(duckdb::dtime_t(*i));
      break;
    case TypeId::kTimestamp:
      if (const auto* i = number(int64_t())) return Value::TIMESTAMP(duckdb::timestamp_t(*i));
      break;
    case TypeId::kTimestamptz:
      if (const auto* i = number(int64_t())) {
        return Value::TIMESTAMPTZ(duckdb::timestamp_tz_t(duckdb::timestamp_t(*i)));
      }
      break;
    case TypeId::kFloat:
      if (const auto* f = number(float())) return Value::FLOAT(*f);
      break;
    case TypeId::kDouble:
      if (const auto* d = number(double())) return Value::DOUBLE(*d);
      break;
    case TypeId::kDecimal:
      if (const auto* d = std::get_if<arrow::Decimal128>(&value)) {
        return FromDecimal(*d, type);
      }
      break;
    case TypeId::kString:
      if (const auto* text = std::get_if<std::string>(&value)) {
        if (Value::StringIsValid(text->data(), text->size())) return Value(*text);
      }
      break;
    case TypeId::kUuid:
      if (const auto* bytes = std::get_if<std::string>(&value); bytes && bytes->size() == 16) {
        return Value::UUID(UuidFromBytes(bytes->data()));
      }
      break;
    default: break;
  }
  return std::nullopt;
}

}  // namespace timelake::sql

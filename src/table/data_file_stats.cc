#include "table/data_file_stats.h"

#include <cmath>
#include <cstring>
#include <string_view>

#include <parquet/schema.h>
#include <parquet/statistics.h>

#include "base/civil_time.h"
#include "base/decimal_bytes.h"
#include "table/data_file_source.h"

namespace timelake::table {
namespace {

using iceberg::TypeId;
using iceberg::Value;
using parquet::LogicalType;

enum class Side { kMin, kMax };

// Parquet's plain encoding of a fixed-size value is little-endian; so is every machine this runs
// on.
template <typename T>
std::optional<T> Plain(std::string_view bytes) {
  if (bytes.size() != sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

std::optional<int64_t> PlainInteger(const parquet::ColumnDescriptor& column,
                                    std::string_view bytes) {
  if (column.physical_type() == parquet::Type::INT32) return Plain<int32_t>(bytes);
  if (column.physical_type() == parquet::Type::INT64) return Plain<int64_t>(bytes);
  return std::nullopt;
}

bool IsUnsigned(const parquet::ColumnDescriptor& column) {
  const auto& logical = column.logical_type();
  return logical && logical->is_int() &&
         !static_cast<const parquet::IntLogicalType&>(*logical).is_signed();
}

LogicalType::TimeUnit::unit UnitOf(const parquet::ColumnDescriptor& column) {
  const auto& logical = column.logical_type();
  if (logical && logical->is_timestamp()) {
    return static_cast<const parquet::TimestampLogicalType&>(*logical).time_unit();
  }
  if (logical && logical->is_time()) {
    return static_cast<const parquet::TimeLogicalType&>(*logical).time_unit();
  }
  return LogicalType::TimeUnit::UNKNOWN;
}

// In microseconds, rounded outwards.
std::optional<Value> TimeBound(const parquet::ColumnDescriptor& column, std::string_view bytes,
                               Side side) {
  auto raw = PlainInteger(column, bytes);
  if (!raw) return std::nullopt;
  int64_t micros = *raw;
  switch (UnitOf(column)) {
    case LogicalType::TimeUnit::MICROS: return Value(micros);
    case LogicalType::TimeUnit::MILLIS:
      if (__builtin_mul_overflow(*raw, int64_t{1000}, &micros)) return std::nullopt;
      return Value(micros);
    case LogicalType::TimeUnit::NANOS:
      micros = FloorDiv(*raw, 1000);
      if (side == Side::kMax && FloorMod(*raw, 1000) != 0) ++micros;
      return Value(micros);
    default: return std::nullopt;
  }
}

std::optional<Value> FloatBound(const iceberg::Type& type, const parquet::ColumnDescriptor& column,
                                std::string_view bytes, Side side) {
  std::optional<double> value;
  if (column.physical_type() == parquet::Type::FLOAT) value = Plain<float>(bytes);
  if (column.physical_type() == parquet::Type::DOUBLE) value = Plain<double>(bytes);
  if (!value || std::isnan(*value)) return std::nullopt;
  if (*value == 0) value = side == Side::kMin ? -0.0 : 0.0;
  if (type.id == TypeId::kFloat) return Value(static_cast<float>(*value));
  return Value(*value);
}

std::optional<Value> DecimalBound(const iceberg::Type& type,
                                  const parquet::ColumnDescriptor& column, std::string_view bytes) {
  const auto& logical = column.logical_type();
  if (!logical || !logical->is_decimal() || column.type_scale() != type.scale) return std::nullopt;
  if (auto integer = PlainInteger(column, bytes)) return Value(arrow::Decimal128(*integer));
  if (column.physical_type() != parquet::Type::BYTE_ARRAY &&
      column.physical_type() != parquet::Type::FIXED_LEN_BYTE_ARRAY) {
    return std::nullopt;
  }
  auto decimal = DecimalFromBytes(bytes);
  if (!decimal.ok()) return std::nullopt;
  return Value(*decimal);
}

std::optional<Value> BytesBound(const iceberg::Type& type, const parquet::ColumnDescriptor& column,
                                std::string_view bytes) {
  const bool fixed = type.id == TypeId::kFixed || type.id == TypeId::kUuid;
  const size_t length = type.id == TypeId::kUuid ? 16 : static_cast<size_t>(type.length);
  if (fixed && bytes.size() != length) return std::nullopt;
  if (column.physical_type() == parquet::Type::BYTE_ARRAY ||
      column.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY) {
    return Value(std::string(bytes));
  }
  return std::nullopt;
}

std::optional<Value> Bound(const iceberg::Type& type, const parquet::ColumnDescriptor& column,
                           std::string_view bytes, Side side) {
  switch (type.id) {
    case TypeId::kBoolean:
      if (bytes.size() != 1 || column.physical_type() != parquet::Type::BOOLEAN) break;
      return Value(bytes[0] != 0);
    case TypeId::kInt:
    case TypeId::kDate:
      if (auto value = PlainInteger(column, bytes);
          value && column.physical_type() == parquet::Type::INT32) {
        return Value(static_cast<int32_t>(*value));
      }
      break;
    case TypeId::kLong:
      if (auto value = PlainInteger(column, bytes)) return Value(*value);
      break;
    case TypeId::kFloat:
    case TypeId::kDouble: return FloatBound(type, column, bytes, side);
    case TypeId::kDecimal: return DecimalBound(type, column, bytes);
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz: return TimeBound(column, bytes, side);
    default: return BytesBound(type, column, bytes);
  }
  return std::nullopt;
}

std::optional<std::string> Serialized(const iceberg::Type& type,
                                      const std::optional<Value>& value) {
  if (!value) return std::nullopt;
  auto bytes = iceberg::ToBytes(type, *value);
  if (!bytes.ok()) return std::nullopt;
  return *std::move(bytes);
}

// Only bytes are ever cut by writers that do not say whether they did. `stated`: what the file
// says.
bool IsWhole(const parquet::ColumnDescriptor& column, std::optional<bool> stated) {
  const auto type = column.physical_type();
  const bool bytes =
      type == parquet::Type::BYTE_ARRAY || type == parquet::Type::FIXED_LEN_BYTE_ARRAY;
  return stated.value_or(!bytes);
}

// The bound if it is a value of the column.
std::optional<std::string> Exact(const iceberg::Type& type, const parquet::ColumnDescriptor& column,
                                 const std::string& bytes, Side side) {
  const auto value = Bound(type, column, bytes, side);
  if (!value) return std::nullopt;
  // -0.0 and 0.0 are equal: which of them is there the footer does not tell.
  if (const auto* f = std::get_if<float>(&*value); f && *f == 0) return std::nullopt;
  if (const auto* d = std::get_if<double>(&*value); d && *d == 0) return std::nullopt;
  if (UnitOf(column) == LogicalType::TimeUnit::NANOS) {
    const auto raw = PlainInteger(column, bytes);
    if (!raw || FloorMod(*raw, 1000) != 0) return std::nullopt;
  }
  return Serialized(type, value);
}

bool TrustsOrder(const parquet::ColumnDescriptor& column) {
  return column.column_order().get_order() == parquet::ColumnOrder::TYPE_DEFINED_ORDER &&
         column.sort_order() != parquet::SortOrder::UNKNOWN && !IsUnsigned(column) &&
         column.physical_type() != parquet::Type::INT96;
}

DataFileReader::Stats FileStats(const parquet::RowGroupMetaData& row_group,
                                const ColumnSource& source) {
  DataFileReader::Stats stats;
  const int leaf = source.origin->column_index;
  auto chunk = row_group.ColumnChunk(leaf);
  const parquet::ColumnDescriptor& column = *row_group.schema()->Column(leaf);
  if (column.max_repetition_level() > 0) return stats;
  if (column.max_definition_level() == 0) stats.null_count = 0;
  if (!chunk->is_stats_set()) return stats;
  auto footer = chunk->statistics();
  if (!footer) return stats;
  if (footer->HasNullCount() && footer->null_count() >= 0 &&
      footer->null_count() <= row_group.num_rows()) {
    stats.null_count = footer->null_count();
  }
  if (!footer->HasMinMax() || !TrustsOrder(column)) return stats;
  const iceberg::Type& type = source.field.type;
  stats.min = Serialized(type, Bound(type, column, footer->EncodeMin(), Side::kMin));
  const bool is_float = type.id == TypeId::kFloat || type.id == TypeId::kDouble;
  if (!is_float) {
    stats.max = Serialized(type, Bound(type, column, footer->EncodeMax(), Side::kMax));
  }
  if (IsWhole(column, footer->is_min_value_exact())) {
    stats.exact_min = Exact(type, column, footer->EncodeMin(), Side::kMin);
  }
  if (IsWhole(column, footer->is_max_value_exact())) {
    stats.exact_max = Exact(type, column, footer->EncodeMax(), Side::kMax);
  }
  return stats;
}

}  // namespace

DataFileReader::Stats ColumnStats(const parquet::RowGroupMetaData& row_group,
                                  const ColumnSource& source) {
  if (!source.field.type.is_primitive()) return {};
  if (source.missing) {
    DataFileReader::Stats stats;
    stats.null_count = source.value ? 0 : row_group.num_rows();
    stats.min = stats.max = Serialized(source.field.type, source.value);
    stats.exact_min = stats.exact_max = stats.min;
    return stats;
  }
  auto stats = CatchParquet([&] { return FileStats(row_group, source); });
  return stats.ok() ? *stats : DataFileReader::Stats{};
}

DataFileReader::Stats PageStats(const parquet::FileMetaData& footer, const ColumnSource& source,
                                const PageIndex::Bounds& bounds, int64_t rows) {
  DataFileReader::Stats stats;
  if (!source.field.type.is_primitive() || source.leaves.size() != 1) return stats;
  const parquet::ColumnDescriptor& column = *footer.schema()->Column(source.leaves[0]);
  if (column.max_repetition_level() > 0) return stats;
  if (bounds.null_count && *bounds.null_count <= rows) stats.null_count = bounds.null_count;
  if (column.max_definition_level() == 0) stats.null_count = 0;
  if (bounds.all_null) {
    stats.null_count = rows;
    return stats;
  }
  if (!TrustsOrder(column)) return stats;
  const iceberg::Type& type = source.field.type;
  stats.min = Serialized(type, Bound(type, column, bounds.min, Side::kMin));
  stats.max = Serialized(type, Bound(type, column, bounds.max, Side::kMax));
  return stats;
}

}  // namespace timelake::table

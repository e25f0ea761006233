#include "table/data_file_bloom.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <parquet/bloom_filter.h>
#include <parquet/bloom_filter_reader.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include "table/data_file_pages.h"
#include "table/data_file_source.h"
#include "table/meta_cache.h"

namespace timelake::table {
namespace {

using iceberg::TypeId;
using iceberg::Value;
using parquet::LogicalType;

// Whether a column of INT64 holds the numbers that our values are.
bool HasOurUnit(const parquet::ColumnDescriptor& column) {
  const auto& logical = column.logical_type();
  if (!logical || logical->is_none()) return true;
  if (logical->is_int()) return static_cast<const parquet::IntLogicalType&>(*logical).is_signed();
  const auto is_micros = [](LogicalType::TimeUnit::unit unit) {
    return unit == LogicalType::TimeUnit::MICROS;
  };
  if (logical->is_timestamp()) {
    return is_micros(static_cast<const parquet::TimestampLogicalType&>(*logical).time_unit());
  }
  if (logical->is_time()) {
    return is_micros(static_cast<const parquet::TimeLogicalType&>(*logical).time_unit());
  }
  return false;
}

// nullopt: nothing can be said of the value.
std::optional<uint64_t> HashOf(const parquet::BloomFilter& filter,
                               const parquet::ColumnDescriptor& column, const iceberg::Type& type,
                               const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  switch (column.physical_type()) {
    case parquet::Type::INT32: {
      const auto* number = std::get_if<int32_t>(&value);
      if (!number || (type.id != TypeId::kInt && type.id != TypeId::kDate)) return std::nullopt;
      return filter.Hash(*number);
    }
    case parquet::Type::INT64: {
      const auto* number = std::get_if<int64_t>(&value);
      if (!number || !HasOurUnit(column)) return std::nullopt;
      return filter.Hash(*number);
    }
    case parquet::Type::BYTE_ARRAY: {
      if (!text || (type.id != TypeId::kString && type.id != TypeId::kBinary)) return std::nullopt;
      const parquet::ByteArray bytes(*text);
      return filter.Hash(&bytes);
    }
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: {
      const bool is_bytes = type.id == TypeId::kUuid || type.id == TypeId::kFixed;
      if (!text || !is_bytes || static_cast<int>(text->size()) != column.type_length()) {
        return std::nullopt;
      }
      const parquet::FLBA bytes(reinterpret_cast<const uint8_t*>(text->data()));
      return filter.Hash(&bytes, static_cast<uint32_t>(text->size()));
    }
    default: return std::nullopt;
  }
}

Result<std::shared_ptr<const parquet::BloomFilter>> ReadFilter(
    const Env& env, const std::string& uri,
    const std::shared_ptr<arrow::io::RandomAccessFile>& source,
    const std::shared_ptr<parquet::FileMetaData>& footer, int row_group, int leaf) {
  TL_ASSIGN_OR_RAISE(std::string key, store::KeyOf(*env.store, uri));
  key = "bloom:" + std::to_string(row_group) + ":" + std::to_string(leaf) + ":" + key;
  if (env.cache) {
    if (auto known = env.cache->Get<parquet::BloomFilter>(key)) return known;
  }
  auto read = CatchParquet([&]() -> std::shared_ptr<const parquet::BloomFilter> {
    const parquet::ReaderProperties properties = FileProperties();
    const auto reader = parquet::BloomFilterReader::Make(source, footer, properties);
    const auto of_row_group = reader->RowGroup(row_group);
    return of_row_group ? of_row_group->GetColumnBloomFilter(leaf) : nullptr;
  });
  if (!read.ok()) {
    return ParquetError(uri, "row group " + std::to_string(row_group) + ": Bloom filter",
                        read.status());
  }
  if (env.cache && *read) {
    env.cache->Put<parquet::BloomFilter>(key, *read, (*read)->GetBitsetSize());
  }
  return *read;
}

}  // namespace

Result<bool> MayHold(const Env& env, const std::string& uri,
                     const std::shared_ptr<arrow::io::RandomAccessFile>& source,
                     const std::shared_ptr<parquet::FileMetaData>& footer, int row_group,
                     const ColumnSource& column, const std::vector<Value>& values) {
  if (column.missing || column.leaves.size() != 1) return true;
  const int leaf = column.leaves[0];
  if (!footer->RowGroup(row_group)->ColumnChunk(leaf)->bloom_filter_offset()) return true;
  TL_ASSIGN_OR_RAISE(const auto filter, ReadFilter(env, uri, source, footer, row_group, leaf));
  if (!filter) return true;
  const parquet::ColumnDescriptor& descriptor = *footer->schema()->Column(leaf);
  return std::any_of(values.begin(), values.end(), [&](const Value& value) {
    const auto hash = HashOf(*filter, descriptor, column.field.type, value);
    return !hash || filter->FindHash(*hash);
  });
}

}  // namespace timelake::table

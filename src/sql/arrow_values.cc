#include "sql/arrow_values.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <duckdb/common/types/hugeint.hpp>

#include "sql/error.h"
#include "sql/uuid_order.h"

namespace timelake::sql {

namespace {

using duckdb::FlatVector;
using duckdb::idx_t;
using duckdb::LogicalTypeId;
using duckdb::Vector;

// 64 bits of a bitmap from any bit on; bits behind its end are zero.
uint64_t LoadBits(const arrow::Buffer& bitmap, int64_t bit) {
  const int64_t byte = bit / 8;
  const int shift = static_cast<int>(bit % 8);
  uint8_t bytes[9] = {};
  const int64_t available = std::min<int64_t>(sizeof(bytes), bitmap.size() - byte);
  if (available > 0) std::memcpy(bytes, bitmap.data() + byte, static_cast<size_t>(available));
  uint64_t word = 0;
  for (int i = 7; i >= 0; --i) word = word << 8 | bytes[i];
  if (shift == 0) return word;
  return word >> shift | static_cast<uint64_t>(bytes[8]) << (64 - shift);
}

void Require(bool fits, const arrow::ArrayData& data, const Vector& out) {
  if (!fits) ThrowTypeMismatch(data, out);
}

// Values of the same bits in both worlds.
template <typename T>
void Fixed(const arrow::ArrayData& data, int64_t start, idx_t count, Vector& out, Borrow borrow) {
  const uint8_t* from = data.buffers[1]->data() + start * static_cast<int64_t>(sizeof(T));
  const bool aligned = reinterpret_cast<uintptr_t>(from) % alignof(T) == 0;
  if (borrow == Borrow::kYes && aligned) {
    FlatVector::SetData(out, const_cast<duckdb::data_ptr_t>(from));
  } else {
    std::memcpy(FlatVector::GetData(out), from, count * sizeof(T));
  }
}

void Booleans(const arrow::ArrayData& data, int64_t start, idx_t count, Vector& out) {
  bool* to = FlatVector::GetData<bool>(out);
  const uint8_t* bits = data.buffers[1]->data();
  for (idx_t i = 0; i < count; ++i) {
    to[i] = arrow::bit_util::GetBit(bits, start + static_cast<int64_t>(i));
  }
}

// Arrow holds every decimal in 16 bytes, DuckDB in as few as the precision needs.
template <typename T>
void Decimals(const arrow::ArrayData& data, int64_t start, idx_t count, Vector& out) {
  T* to = FlatVector::GetData<T>(out);
  const uint8_t* from = data.buffers[1]->data() + start * 16;
  for (idx_t i = 0; i < count; ++i) {
    uint64_t words[2];
    std::memcpy(words, from + i * 16, sizeof(words));
    if constexpr (std::is_same_v<T, duckdb::hugeint_t>) {
      to[i].lower = words[0];
      to[i].upper = static_cast<int64_t>(words[1]);
    } else {
      to[i] = static_cast<T>(words[0]);
    }
  }
}

void AnyDecimal(const arrow::ArrayData& data, int64_t start, idx_t count, Vector& out) {
  Require(out.GetType().id() == LogicalTypeId::DECIMAL, data, out);
  switch (out.GetType().InternalType()) {
    case duckdb::PhysicalType::INT16: return Decimals<int16_t>(data, start, count, out);
    case duckdb::PhysicalType::INT32: return Decimals<int32_t>(data, start, count, out);
    case duckdb::PhysicalType::INT64: return Decimals<int64_t>(data, start, count, out);
    default: return Decimals<duckdb::hugeint_t>(data, start, count, out);
  }
}

// A null slot may hold any bytes, but its string_t is still read by some operators: make it empty.
void Strings(const arrow::ArrayData& data, int64_t start, idx_t count, Vector& out) {
  auto* to = FlatVector::GetData<duckdb::string_t>(out);
  const auto& mask = FlatVector::Validity(out);
  for (idx_t i = 0; i < count; ++i) {
    if (!mask.RowIsValid(i)) {
      to[i] = duckdb::string_t("", 0);
      continue;
    }
    to[i] = StringAt(data, start + static_cast<int64_t>(i));
  }
}

void Uuids(const arrow::ArrayData& data, int64_t start, idx_t count, Vector& out) {
  auto* to = FlatVector::GetData<duckdb::hugeint_t>(out);
  const uint8_t* from = data.buffers[1]->data() + start * 16;
  for (idx_t i = 0; i < count; ++i) to[i] = UuidFromBytes(from + i * 16);
}

void FixedBinary(const arrow::ArrayData& data, int64_t start, idx_t count, Vector& out) {
  const auto& type = static_cast<const arrow::FixedSizeBinaryType&>(*data.type);
  if (out.GetType().id() == LogicalTypeId::UUID) {
    Require(type.byte_width() == 16, data, out);
    return Uuids(data, start, count, out);
  }
  Require(out.GetType().id() == LogicalTypeId::BLOB, data, out);
  Strings(data, start, count, out);
}

template <typename Offset>
void Lists(const arrow::ArrayData& data, int64_t start, idx_t count, Vector& out) {
  const auto type = out.GetType().id();
  Require(type == LogicalTypeId::LIST || type == LogicalTypeId::MAP, data, out);
  const auto* offsets = reinterpret_cast<const Offset*>(data.buffers[1]->data()) + start;
  auto* entries = FlatVector::GetData<duckdb::list_entry_t>(out);
  const auto& mask = FlatVector::Validity(out);
  const Offset first = offsets[0];
  for (idx_t i = 0; i < count; ++i) {
    const bool valid = mask.RowIsValid(i);
    entries[i].offset = static_cast<idx_t>(offsets[i] - first);
    entries[i].length = valid ? static_cast<idx_t>(offsets[i + 1] - offsets[i]) : 0;
  }
  const auto children = static_cast<idx_t>(offsets[count] - first);
  duckdb::ListVector::Reserve(out, children);
  duckdb::ListVector::SetListSize(out, children);
  const arrow::ArrayData& child = *data.child_data[0];
  // A map's child is a struct of key and value on both sides.
  ConvertValues(child, child.offset + first, children, duckdb::ListVector::GetEntry(out),
                Borrow::kNo);
}

void Structs(const arrow::ArrayData& data, int64_t start, idx_t count, Vector& out, Borrow borrow) {
  Require(out.GetType().InternalType() == duckdb::PhysicalType::STRUCT, data, out);
  auto& children = duckdb::StructVector::GetEntries(out);
  Require(children.size() == data.child_data.size(), data, out);
  for (size_t c = 0; c < children.size(); ++c) {
    const arrow::ArrayData& child = *data.child_data[c];
    ConvertValues(child, child.offset + start, count, *children[c], borrow);
  }
  // A member of a null struct is null, which Arrow does not promise.
  const auto& mask = FlatVector::Validity(out);
  if (mask.AllValid()) return;
  for (idx_t i = 0; i < count; ++i) {
    if (mask.RowIsValid(i)) continue;
    for (auto& child : children) FlatVector::SetNull(*child, i, true);
  }
}

// Dictionary arrays inside nested values, or with too large a dictionary: plain strings.
void FlatDictionary(const arrow::ArrayData& data, int64_t start, idx_t count, Vector& out) {
  Require(out.GetType().InternalType() == duckdb::PhysicalType::VARCHAR, data, out);
  const arrow::ArrayData& values = *data.dictionary;
  auto* to = FlatVector::GetData<duckdb::string_t>(out);
  auto& mask = FlatVector::Validity(out);
  for (idx_t i = 0; i < count; ++i) {
    to[i] = duckdb::string_t("", 0);
    if (!mask.RowIsValid(i)) continue;
    const int64_t index = IndexAt(data, start + static_cast<int64_t>(i));
    if (IsNullAt(values, index)) {
      mask.SetInvalid(i);
      continue;
    }
    to[i] = StringAt(values, values.offset + index);
  }
}

void RequireMicroseconds(const arrow::ArrayData& data, const Vector& out) {
  const auto id = out.GetType().id();
  if (data.type->id() == arrow::Type::TIME64) {
    Require(id == LogicalTypeId::TIME, data, out);
    const auto unit = static_cast<const arrow::Time64Type&>(*data.type).unit();
    Require(unit == arrow::TimeUnit::MICRO, data, out);
  } else {
    Require(id == LogicalTypeId::TIMESTAMP || id == LogicalTypeId::TIMESTAMP_TZ, data, out);
    const auto unit = static_cast<const arrow::TimestampType&>(*data.type).unit();
    Require(unit == arrow::TimeUnit::MICRO, data, out);
  }
}

void RequireId(LogicalTypeId id, const arrow::ArrayData& data, const Vector& out) {
  Require(out.GetType().id() == id, data, out);
}

}  // namespace

void ThrowTypeMismatch(const arrow::ArrayData& data, const Vector& out) {
  Throw(InternalError("the scan gave Arrow type {} for a column of type {}", data.type->ToString(),
                      out.GetType().ToString()));
}

bool IsNullAt(const arrow::ArrayData& data, int64_t index) {
  return data.buffers[0] && !arrow::bit_util::GetBit(data.buffers[0]->data(), data.offset + index);
}

int64_t IndexAt(const arrow::ArrayData& data, int64_t index) {
  const auto& type = static_cast<const arrow::DictionaryType&>(*data.type);
  const uint8_t* bytes = data.buffers[1]->data();
  switch (type.index_type()->id()) {
    case arrow::Type::INT8: return reinterpret_cast<const int8_t*>(bytes)[index];
    case arrow::Type::UINT8: return bytes[index];
    case arrow::Type::INT16: return reinterpret_cast<const int16_t*>(bytes)[index];
    case arrow::Type::UINT16: return reinterpret_cast<const uint16_t*>(bytes)[index];
    case arrow::Type::INT32: return reinterpret_cast<const int32_t*>(bytes)[index];
    case arrow::Type::UINT32: return reinterpret_cast<const uint32_t*>(bytes)[index];
    default: return reinterpret_cast<const int64_t*>(bytes)[index];
  }
}

duckdb::string_t StringAt(const arrow::ArrayData& data, int64_t index) {
  const auto make = [](const uint8_t* bytes, int64_t begin, int64_t end) {
    return duckdb::string_t(reinterpret_cast<const char*>(bytes) + begin,
                            static_cast<uint32_t>(end - begin));
  };
  static constexpr uint8_t kEmpty[1] = {};
  switch (data.type->id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY: {
      const auto* offsets = reinterpret_cast<const int32_t*>(data.buffers[1]->data()) + index;
      const uint8_t* bytes = data.buffers[2] ? data.buffers[2]->data() : kEmpty;
      return make(bytes, offsets[0], offsets[1]);
    }
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY: {
      const auto* offsets = reinterpret_cast<const int64_t*>(data.buffers[1]->data()) + index;
      const uint8_t* bytes = data.buffers[2] ? data.buffers[2]->data() : kEmpty;
      return make(bytes, offsets[0], offsets[1]);
    }
    default: {  // FIXED_SIZE_BINARY
      const int64_t width = static_cast<const arrow::FixedSizeBinaryType&>(*data.type).byte_width();
      return make(data.buffers[1]->data(), index * width, (index + 1) * width);
    }
  }
}

void ConvertValidity(const arrow::ArrayData& data, int64_t start, idx_t count, Vector& out) {
  if (!data.buffers[0] || data.GetNullCount() == 0 || count == 0) return;
  auto& mask = FlatVector::Validity(out);
  mask.Initialize(std::max<idx_t>(count, STANDARD_VECTOR_SIZE));
  auto* words = mask.GetData();
  for (idx_t i = 0; i < count; i += 64) {
    words[i / 64] = LoadBits(*data.buffers[0], start + static_cast<int64_t>(i));
  }
}

void ConvertValues(const arrow::ArrayData& data, int64_t start, idx_t count, Vector& out,
                   Borrow borrow) {
  if (count == 0) return;
  if (data.type->id() == arrow::Type::EXTENSION) {
    const auto& extension = static_cast<const arrow::ExtensionType&>(*data.type);
    auto storage = data.Copy();
    storage->type = extension.storage_type();
    return ConvertValues(*storage, start, count, out, borrow);
  }
  if (data.type->id() != arrow::Type::NA) ConvertValidity(data, start, count, out);
  switch (data.type->id()) {
    case arrow::Type::NA:
      for (idx_t i = 0; i < count; ++i) FlatVector::SetNull(out, i, true);
      return;
    case arrow::Type::BOOL:
      RequireId(LogicalTypeId::BOOLEAN, data, out);
      return Booleans(data, start, count, out);
    case arrow::Type::INT32:
      RequireId(LogicalTypeId::INTEGER, data, out);
      return Fixed<int32_t>(data, start, count, out, borrow);
    case arrow::Type::DATE32:
      RequireId(LogicalTypeId::DATE, data, out);
      return Fixed<int32_t>(data, start, count, out, borrow);
    case arrow::Type::INT64:
      RequireId(LogicalTypeId::BIGINT, data, out);
      return Fixed<int64_t>(data, start, count, out, borrow);
    case arrow::Type::FLOAT:
      RequireId(LogicalTypeId::FLOAT, data, out);
      return Fixed<float>(data, start, count, out, borrow);
    case arrow::Type::DOUBLE:
      RequireId(LogicalTypeId::DOUBLE, data, out);
      return Fixed<double>(data, start, count, out, borrow);
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
      RequireMicroseconds(data, out);
      return Fixed<int64_t>(data, start, count, out, borrow);
    case arrow::Type::DECIMAL128: return AnyDecimal(data, start, count, out);
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
      Require(out.GetType().InternalType() == duckdb::PhysicalType::VARCHAR, data, out);
      return Strings(data, start, count, out);
    case arrow::Type::FIXED_SIZE_BINARY: return FixedBinary(data, start, count, out);
    case arrow::Type::DICTIONARY: return FlatDictionary(data, start, count, out);
    case arrow::Type::LIST:
    case arrow::Type::MAP: return Lists<int32_t>(data, start, count, out);
    case arrow::Type::LARGE_LIST: return Lists<int64_t>(data, start, count, out);
    case arrow::Type::STRUCT: return Structs(data, start, count, out, borrow);
    default: ThrowTypeMismatch(data, out);
  }
}

}  // namespace timelake::sql

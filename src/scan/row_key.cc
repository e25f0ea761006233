#include "scan/row_key.h"

#include <cmath>
#include <limits>
#include <string_view>

#include <arrow/array.h>
#include <arrow/extension_type.h>

namespace timelake::scan {
namespace {

void AppendBytes(std::string_view bytes, std::string* key) {
  const uint32_t size = static_cast<uint32_t>(bytes.size());
  key->append(reinterpret_cast<const char*>(&size), sizeof(size));
  key->append(bytes);
}

template <typename T>
void AppendFixed(T value, std::string* key) {
  key->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendDouble(double value, std::string* key) {
  AppendFixed(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value, key);
}

template <typename ArrayType>
auto ValueOf(const arrow::Array& array, int64_t row) {
  return static_cast<const ArrayType&>(array).Value(row);
}

void AppendValue(const arrow::Array& array, int64_t row, std::string* key) {
  switch (array.type_id()) {
    case arrow::Type::BOOL: key->push_back(ValueOf<arrow::BooleanArray>(array, row)); break;
    case arrow::Type::INT32:
      AppendFixed<int64_t>(ValueOf<arrow::Int32Array>(array, row), key);
      break;
    case arrow::Type::DATE32:
      AppendFixed<int64_t>(ValueOf<arrow::Date32Array>(array, row), key);
      break;
    case arrow::Type::INT64: AppendFixed(ValueOf<arrow::Int64Array>(array, row), key); break;
    case arrow::Type::TIME64: AppendFixed(ValueOf<arrow::Time64Array>(array, row), key); break;
    case arrow::Type::TIMESTAMP:
      AppendFixed(ValueOf<arrow::TimestampArray>(array, row), key);
      break;
    case arrow::Type::FLOAT: AppendDouble(ValueOf<arrow::FloatArray>(array, row), key); break;
    case arrow::Type::DOUBLE: AppendDouble(ValueOf<arrow::DoubleArray>(array, row), key); break;
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      AppendBytes(static_cast<const arrow::BinaryArray&>(array).GetView(row), key);
      break;
    default:  // fixed, decimal128
      AppendBytes(static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(row), key);
  }
}

bool IsSupported(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL:
    case arrow::Type::INT32:
    case arrow::Type::DATE32:
    case arrow::Type::INT64:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::FIXED_SIZE_BINARY:
    case arrow::Type::DECIMAL128: return true;
    default: return false;
  }
}

}  // namespace

Result<RowKeys> RowKeys::Make(const std::vector<std::shared_ptr<arrow::Array>>& columns) {
  RowKeys keys;
  for (const auto& given : columns) {
    Column column{.array = given, .values = given};
    if (given->type_id() == arrow::Type::EXTENSION) {
      column.array = column.values = static_cast<const arrow::ExtensionArray&>(*given).storage();
    } else if (given->type_id() == arrow::Type::DICTIONARY) {
      column.values = static_cast<const arrow::DictionaryArray&>(*given).dictionary();
    }
    if (!IsSupported(*column.values->type())) {
      return Unsupported("equality deletes on a column of type {}", given->type()->ToString());
    }
    keys.columns_.push_back(std::move(column));
  }
  return keys;
}

void RowKeys::Get(int64_t row, std::string* key) const {
  key->clear();
  for (const Column& column : columns_) {
    int64_t index = row;
    bool null = column.array->IsNull(row);
    if (!null && column.array != column.values) {
      index = static_cast<const arrow::DictionaryArray&>(*column.array).GetValueIndex(row);
      null = column.values->IsNull(index);
    }
    key->push_back(null ? 0 : 1);
    if (!null) AppendValue(*column.values, index, key);
  }
}

}  // namespace timelake::scan

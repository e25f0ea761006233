#include "write/arrow_value.h"

#include <string>

#include <arrow/extension_type.h>
#include <arrow/util/decimal.h>

namespace timelake::write {

iceberg::Value ValueAt(const arrow::Array& array, int64_t position) {
  using arrow::Type;
  if (array.IsNull(position)) return std::monostate{};
  switch (array.type_id()) {
    case Type::BOOL: return static_cast<const arrow::BooleanArray&>(array).Value(position);
    case Type::INT32:
    case Type::DATE32: return array.data()->GetValues<int32_t>(1)[position];
    case Type::INT64:
    case Type::TIME64:
    case Type::TIMESTAMP: return array.data()->GetValues<int64_t>(1)[position];
    case Type::FLOAT: return array.data()->GetValues<float>(1)[position];
    case Type::DOUBLE: return array.data()->GetValues<double>(1)[position];
    case Type::DECIMAL128:
      return arrow::Decimal128(
          static_cast<const arrow::Decimal128Array&>(array).GetValue(position));
    case Type::STRING:
    case Type::BINARY:
      return std::string(static_cast<const arrow::BinaryArray&>(array).GetView(position));
    case Type::FIXED_SIZE_BINARY:
      return std::string(static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(position));
    case Type::EXTENSION:
      return ValueAt(*static_cast<const arrow::ExtensionArray&>(array).storage(), position);
    case Type::DICTIONARY: {
      const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
      return ValueAt(*encoded.dictionary(), encoded.GetValueIndex(position));
    }
    default: return std::monostate{};
  }
}

}  // namespace timelake::write

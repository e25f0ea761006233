#include "schema_names.h"

#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <fmt/format.h>

namespace timelake::cli {
namespace {

using arrow::Type;

std::string FieldText(const arrow::Field& field) {
  return fmt::format("{}:{}{}", field.name(), TypeName(*field.type()), field.nullable() ? "" : "!");
}

std::string NestedName(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::LIST:
    case Type::LARGE_LIST: return fmt::format("list<{}>", TypeName(*type.field(0)->type()));
    case Type::MAP: {
      const auto& map = static_cast<const arrow::MapType&>(type);
      return fmt::format("map<{}, {}>", TypeName(*map.key_type()), TypeName(*map.item_type()));
    }
    case Type::STRUCT: {
      std::string members;
      for (const auto& field : type.fields()) {
        members += (members.empty() ? "" : ", ") + FieldText(*field);
      }
      return fmt::format("struct<{}>", members);
    }
    default: return type.ToString();
  }
}

}  // namespace

std::string TypeName(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::BOOL: return "boolean";
    case Type::INT32: return "int";
    case Type::INT64: return "long";
    case Type::FLOAT: return "float";
    case Type::DOUBLE: return "double";
    case Type::STRING:
    case Type::LARGE_STRING: return "string";
    case Type::BINARY:
    case Type::LARGE_BINARY: return "binary";
    case Type::DATE32: return "date";
    case Type::TIME64: return "time";
    case Type::TIMESTAMP: {
      const auto& timestamp = static_cast<const arrow::TimestampType&>(type);
      return timestamp.timezone().empty() ? "timestamp" : "timestamptz";
    }
    case Type::DECIMAL128: {
      const auto& decimal = static_cast<const arrow::DecimalType&>(type);
      return fmt::format("decimal({},{})", decimal.precision(), decimal.scale());
    }
    case Type::FIXED_SIZE_BINARY: {
      const auto& fixed = static_cast<const arrow::FixedSizeBinaryType&>(type);
      return fmt::format("fixed({})", fixed.byte_width());
    }
    case Type::EXTENSION: {
      const auto& extension = static_cast<const arrow::ExtensionType&>(type);
      return extension.extension_name() == "arrow.uuid" ? "uuid"
                                                        : TypeName(*extension.storage_type());
    }
    default: return NestedName(type);
  }
}

}  // namespace timelake::cli

#include "iceberg/arrow_schema.h"

#include <utility>
#include <vector>

#include <arrow/extension/uuid.h>
#include <arrow/util/key_value_metadata.h>

#include "base/text.h"
#include "iceberg/type_names.h"

namespace timelake::iceberg {
namespace {

constexpr std::string_view kExtensionNameKey = "ARROW:extension:name";

Type Plain(TypeId id) {
  Type type;
  type.id = id;
  return type;
}

class FromArrowConverter {
 public:
  Result<Field> Convert(const arrow::Field& field, const std::string& path, int depth) {
    Field converted;
    converted.name = field.name();
    converted.required = !field.nullable();
    if (IsUuid(field)) {
      converted.type.id = TypeId::kUuid;
      return converted;
    }
    TL_ASSIGN_OR_RAISE(converted.type, Convert(*field.type(), path, depth));
    return converted;
  }

 private:
  static Status Refused(const std::string& path, const arrow::DataType& type,
                        std::string_view advice) {
    return Unsupported("column {}: Arrow type {} is not supported; {}", Quote(path),
                       type.ToString(), advice);
  }

  // An extension type that is not registered arrives as its storage with the name as metadata.
  static bool IsUuid(const arrow::Field& field) {
    if (field.type()->id() != arrow::Type::FIXED_SIZE_BINARY || !field.metadata()) return false;
    auto name = field.metadata()->Get(std::string(kExtensionNameKey));
    return name.ok() && *name == "arrow.uuid" &&
           static_cast<const arrow::FixedSizeBinaryType&>(*field.type()).byte_width() == 16;
  }

  Result<Type> Convert(const arrow::DataType& type, const std::string& path, int depth) {
    if (depth > kMaxTypeDepth) {
      return InvalidArgument("column {}: types nest deeper than {} levels", Quote(path),
                             kMaxTypeDepth);
    }
    switch (type.id()) {
      case arrow::Type::BOOL: return Plain(TypeId::kBoolean);
      case arrow::Type::INT8:
      case arrow::Type::INT16:
      case arrow::Type::INT32:
      case arrow::Type::UINT8:
      case arrow::Type::UINT16: return Plain(TypeId::kInt);
      case arrow::Type::INT64:
      case arrow::Type::UINT32: return Plain(TypeId::kLong);
      case arrow::Type::UINT64:
        return Refused(path, type, "cast to int64 (or decimal(20,0) for values beyond it)");
      case arrow::Type::HALF_FLOAT:
      case arrow::Type::FLOAT: return Plain(TypeId::kFloat);
      case arrow::Type::DOUBLE: return Plain(TypeId::kDouble);
      case arrow::Type::STRING:
      case arrow::Type::LARGE_STRING:
      case arrow::Type::STRING_VIEW: return Plain(TypeId::kString);
      case arrow::Type::BINARY:
      case arrow::Type::LARGE_BINARY:
      case arrow::Type::BINARY_VIEW: return Plain(TypeId::kBinary);
      case arrow::Type::FIXED_SIZE_BINARY: return Fixed(type, path);
      case arrow::Type::DATE32:
      case arrow::Type::DATE64: return Plain(TypeId::kDate);
      case arrow::Type::TIME32: return Plain(TypeId::kTime);
      case arrow::Type::TIME64:
        if (static_cast<const arrow::Time64Type&>(type).unit() == arrow::TimeUnit::NANO) {
          return Refused(path, type, "cast to time64[us]");
        }
        return Plain(TypeId::kTime);
      case arrow::Type::TIMESTAMP:
        return Plain(static_cast<const arrow::TimestampType&>(type).timezone().empty()
                         ? TypeId::kTimestamp
                         : TypeId::kTimestamptz);
      case arrow::Type::DECIMAL32:
      case arrow::Type::DECIMAL64:
      case arrow::Type::DECIMAL128:
      case arrow::Type::DECIMAL256: return Decimal(type, path);
      case arrow::Type::NA: return Refused(path, type, "give the column a type, or cast it to one");
      case arrow::Type::EXTENSION: return Extension(type, path, depth);
      case arrow::Type::DICTIONARY:
        return Convert(*static_cast<const arrow::DictionaryType&>(type).value_type(), path, depth);
      case arrow::Type::RUN_END_ENCODED:
        return Convert(*static_cast<const arrow::RunEndEncodedType&>(type).value_type(), path,
                       depth);
      case arrow::Type::LIST:
      case arrow::Type::LARGE_LIST:
      case arrow::Type::LIST_VIEW:
      case arrow::Type::LARGE_LIST_VIEW:
      case arrow::Type::FIXED_SIZE_LIST:
      case arrow::Type::MAP:
      case arrow::Type::STRUCT: return Nested(type, path, depth);
      default:
        // Durations, intervals, unions, and types that Arrow adds later.
        return Refused(path, type, "cast it to one of: " + std::string(AcceptedTypes()));
    }
  }

  static Result<Type> Fixed(const arrow::DataType& type, const std::string& path) {
    Type fixed = Plain(TypeId::kFixed);
    fixed.length = static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width();
    if (fixed.length <= 0) return Refused(path, type, "cast to binary");
    return fixed;
  }

  static Result<Type> Decimal(const arrow::DataType& type, const std::string& path) {
    const auto& decimal = static_cast<const arrow::DecimalType&>(type);
    Type converted = Plain(TypeId::kDecimal);
    converted.precision = decimal.precision();
    converted.scale = decimal.scale();
    if (converted.precision > 38) return Refused(path, type, "decimals have at most 38 digits");
    if (converted.scale < 0 || converted.scale > converted.precision) {
      return Refused(path, type, "the scale must be in 0..precision");
    }
    return converted;
  }

  Result<Type> Extension(const arrow::DataType& type, const std::string& path, int depth) {
    const auto& extension = static_cast<const arrow::ExtensionType&>(type);
    if (extension.extension_name() == "arrow.uuid") return Plain(TypeId::kUuid);
    return Convert(*extension.storage_type(), path, depth);
  }

  Result<Type> Nested(const arrow::DataType& type, const std::string& path, int depth) {
    Type nested;
    if (type.id() == arrow::Type::STRUCT) {
      nested.id = TypeId::kStruct;
    } else if (type.id() == arrow::Type::MAP) {
      nested.id = TypeId::kMap;
    } else {
      nested.id = TypeId::kList;
    }
    if (nested.id == TypeId::kMap) {
      const auto& map = static_cast<const arrow::MapType&>(type);
      TL_RETURN_NOT_OK(AddMember(*map.key_field(), "key", path, depth, &nested));
      TL_RETURN_NOT_OK(AddMember(*map.item_field(), "value", path, depth, &nested));
      nested.fields[0].required = true;
      return nested;
    }
    for (const auto& child : type.fields()) {
      const std::string name = nested.id == TypeId::kList ? "element" : child->name();
      TL_RETURN_NOT_OK(AddMember(*child, name, path, depth, &nested));
    }
    return nested;
  }

  Status AddMember(const arrow::Field& child, const std::string& name, const std::string& path,
                   int depth, Type* parent) {
    TL_ASSIGN_OR_RAISE(Field field, Convert(child, path + "." + name, depth + 1));
    field.name = name;
    parent->fields.push_back(std::move(field));
    return Status::OK();
  }
};

std::shared_ptr<arrow::Field> ToArrowField(const Field& field) {
  return arrow::field(field.name, ToArrow(field.type), !field.required,
                      arrow::key_value_metadata({kArrowFieldIdKey}, {std::to_string(field.id)}));
}

}  // namespace

Result<Schema> FromArrow(const arrow::Schema& schema, const std::map<std::string, Type>& given) {
  Schema converted;
  for (const auto& [name, type] : given) {
    if (schema.GetAllFieldIndices(name).empty()) {
      return InvalidArgument("a type is given for column {}, which is not there; columns: {}",
                             Quote(name), JoinNames(schema.field_names()));
    }
  }
  for (const auto& field : schema.fields()) {
    if (auto type = given.find(field->name()); type != given.end()) {
      Field chosen;
      chosen.name = field->name();
      chosen.required = !field->nullable();
      chosen.type = type->second;
      converted.fields.push_back(std::move(chosen));
      continue;
    }
    TL_ASSIGN_OR_RAISE(Field own, FromArrowConverter().Convert(*field, field->name(), 0));
    converted.fields.push_back(std::move(own));
  }
  converted = AssignFreshIds(converted);
  TL_RETURN_NOT_OK(ValidateSchema(converted));
  return converted;
}

std::shared_ptr<arrow::DataType> ToArrow(const Type& type) {
  switch (type.id) {
    case TypeId::kBoolean: return arrow::boolean();
    case TypeId::kInt: return arrow::int32();
    case TypeId::kLong: return arrow::int64();
    case TypeId::kFloat: return arrow::float32();
    case TypeId::kDouble: return arrow::float64();
    case TypeId::kDecimal: return arrow::decimal128(type.precision, type.scale);
    case TypeId::kDate: return arrow::date32();
    case TypeId::kTime: return arrow::time64(arrow::TimeUnit::MICRO);
    case TypeId::kTimestamp: return arrow::timestamp(arrow::TimeUnit::MICRO);
    case TypeId::kTimestamptz: return arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
    case TypeId::kString: return arrow::utf8();
    // The extension type makes Arrow's Parquet writer annotate the column as UUID, which the
    // specification asks for (Appendix A).
    case TypeId::kUuid: return arrow::extension::uuid();
    case TypeId::kFixed: return arrow::fixed_size_binary(type.length);
    case TypeId::kBinary: return arrow::binary();
    case TypeId::kList: return arrow::list(ToArrowField(type.fields.at(0)));
    case TypeId::kMap:
      return std::make_shared<arrow::MapType>(ToArrowField(type.fields.at(0)),
                                              ToArrowField(type.fields.at(1)));
    case TypeId::kStruct: break;
  }
  arrow::FieldVector fields;
  for (const Field& field : type.fields) fields.push_back(ToArrowField(field));
  return arrow::struct_(std::move(fields));
}

std::shared_ptr<arrow::Schema> ToArrow(const Schema& schema) {
  arrow::FieldVector fields;
  for (const Field& field : schema.fields) fields.push_back(ToArrowField(field));
  return arrow::schema(std::move(fields));
}

}  // namespace timelake::iceberg

#include "sql/new_table.h"

#include <utility>

#include <duckdb/parser/constraints/not_null_constraint.hpp>
#include <duckdb/parser/parsed_data/create_table_info.hpp>

#include "base/text.h"
#include "sql/table_options.h"
#include "table/contract.h"

namespace timelake::sql {

namespace {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;
using iceberg::Type;
using iceberg::TypeId;

Result<Type> ToIcebergType(const std::string& column, const LogicalType& type);

Result<iceberg::Field> Member(const std::string& column, const std::string& name,
                              const LogicalType& type, bool required = false) {
  iceberg::Field field;
  field.name = name;
  field.required = required;
  TL_ASSIGN_OR_RAISE(field.type, ToIcebergType(column, type));
  return field;
}

Result<Type> ToNestedType(const std::string& column, const LogicalType& type) {
  Type result;
  switch (type.id()) {
    case LogicalTypeId::LIST: {
      result.id = TypeId::kList;
      TL_ASSIGN_OR_RAISE(auto element,
                         Member(column, "element", duckdb::ListType::GetChildType(type)));
      result.fields = {std::move(element)};
      return result;
    }
    case LogicalTypeId::MAP: {
      result.id = TypeId::kMap;
      TL_ASSIGN_OR_RAISE(auto key, Member(column, "key", duckdb::MapType::KeyType(type), true));
      TL_ASSIGN_OR_RAISE(auto value, Member(column, "value", duckdb::MapType::ValueType(type)));
      result.fields = {std::move(key), std::move(value)};
      return result;
    }
    default: break;
  }
  result.id = TypeId::kStruct;
  for (const auto& [name, child] : duckdb::StructType::GetChildTypes(type)) {
    TL_ASSIGN_OR_RAISE(auto member, Member(column, name, child));
    result.fields.push_back(std::move(member));
  }
  return result;
}

const char* CastAdvice(LogicalTypeId id) {
  switch (id) {
    case LogicalTypeId::UBIGINT:
    case LogicalTypeId::HUGEINT:
    case LogicalTypeId::UHUGEINT: return "cast to BIGINT or DECIMAL(38, 0)";
    case LogicalTypeId::TIMESTAMP_NS: return "cast to TIMESTAMP";
    case LogicalTypeId::SQLNULL: return "cast the NULL to a type";
    default: return "cast to VARCHAR";
  }
}

Result<Type> ToIcebergType(const std::string& column, const LogicalType& type) {
  const auto simple = [](TypeId id) {
    Type result;
    result.id = id;
    return result;
  };
  switch (type.id()) {
    case LogicalTypeId::BOOLEAN: return simple(TypeId::kBoolean);
    case LogicalTypeId::TINYINT:
    case LogicalTypeId::SMALLINT:
    case LogicalTypeId::INTEGER:
    case LogicalTypeId::UTINYINT:
    case LogicalTypeId::USMALLINT: return simple(TypeId::kInt);
    case LogicalTypeId::UINTEGER:
    case LogicalTypeId::BIGINT: return simple(TypeId::kLong);
    case LogicalTypeId::FLOAT: return simple(TypeId::kFloat);
    case LogicalTypeId::DOUBLE: return simple(TypeId::kDouble);
    case LogicalTypeId::DATE: return simple(TypeId::kDate);
    case LogicalTypeId::TIME: return simple(TypeId::kTime);
    case LogicalTypeId::TIMESTAMP:
    case LogicalTypeId::TIMESTAMP_MS:
    case LogicalTypeId::TIMESTAMP_SEC: return simple(TypeId::kTimestamp);
    case LogicalTypeId::TIMESTAMP_TZ: return simple(TypeId::kTimestamptz);
    case LogicalTypeId::VARCHAR:
    case LogicalTypeId::ENUM: return simple(TypeId::kString);
    case LogicalTypeId::UUID: return simple(TypeId::kUuid);
    case LogicalTypeId::BLOB: return simple(TypeId::kBinary);
    case LogicalTypeId::DECIMAL: {
      Type result = simple(TypeId::kDecimal);
      result.precision = duckdb::DecimalType::GetWidth(type);
      result.scale = duckdb::DecimalType::GetScale(type);
      return result;
    }
    case LogicalTypeId::LIST:
    case LogicalTypeId::MAP:
    case LogicalTypeId::STRUCT: return ToNestedType(column, type);
    default:
      return Unsupported("column {} of type {} cannot be stored: {}", Quote(column),
                         type.ToString(), CastAdvice(type.id()));
  }
}

Status CheckPlain(const duckdb::ColumnDefinition& column) {
  if (column.Generated()) {
    return Unsupported("column {} is generated, which tables of the lake do not do",
                       Quote(column.Name()));
  }
  if (column.HasDefaultValue()) {
    return Unsupported("column {} has a default value, which tables of the lake do not have",
                       Quote(column.Name()));
  }
  return Status::OK();
}

}  // namespace

Result<iceberg::Field> ToNewColumn(const duckdb::ColumnDefinition& column) {
  TL_RETURN_NOT_OK(CheckPlain(column));
  return Member(column.Name(), column.Name(), column.Type());
}

Result<NewTable> ToNewTable(const duckdb::CreateTableInfo& info) {
  if (info.on_conflict == duckdb::OnCreateConflict::REPLACE_ON_CONFLICT) {
    return Unsupported("CREATE OR REPLACE TABLE is not supported: DROP TABLE first");
  }
  if (!info.partition_keys.empty() || !info.sort_keys.empty()) {
    return Unsupported(
        "PARTITIONED BY and SORTED BY are not supported: tables are partitioned by time and sorted "
        "by series and time, WITH (time_column = '...', series_key = '...', chunk = 'day')");
  }
  NewTable result;
  for (const auto& column : info.columns.Logical()) {
    TL_ASSIGN_OR_RAISE(auto field, ToNewColumn(column));
    result.schema.fields.push_back(std::move(field));
  }
  for (const auto& constraint : info.constraints) {
    if (constraint->type != duckdb::ConstraintType::NOT_NULL) {
      return Unsupported("{}: tables of the lake have no constraints but NOT NULL",
                         constraint->ToString());
    }
    const auto index = constraint->Cast<duckdb::NotNullConstraint>().index.index;
    result.schema.fields.at(index).required = true;
  }
  TL_ASSIGN_OR_RAISE(result.options, ToTableOptions(info.options));
  result.options.if_not_exists = info.on_conflict == duckdb::OnCreateConflict::IGNORE_ON_CONFLICT;
  // All that can be wrong is found before anything runs.
  TL_RETURN_NOT_OK(
      table::NewTableMetadata(result.schema, result.options, "file:///", "", "", 0).status());
  return result;
}

}  // namespace timelake::sql

#include "sql/result_format.h"

#include <arrow/c/bridge.h>
#include <arrow/util/key_value_metadata.h>
#include <duckdb/common/arrow/arrow_converter.hpp>
#include <duckdb/common/type_visitor.hpp>
#include <duckdb/main/client_context.hpp>

#include "base/text.h"

namespace timelake::sql {

namespace {

using duckdb::LogicalTypeId;

// Types that DuckDB exports as something that is not their value (bits as bytes with a header,
// numbers beyond 2^127 as negative ones, a time without its offset).
Status CheckExportable(const duckdb::LogicalType& type, const std::string& name) {
  for (const auto id : {LogicalTypeId::UHUGEINT, LogicalTypeId::BIT, LogicalTypeId::BIGNUM,
                        LogicalTypeId::TIME_TZ}) {
    if (duckdb::TypeVisitor::Contains(type, id)) {
      return Unsupported(
          "column {} of the result has type {}, which cannot leave as Arrow: cast "
          "it, for example to VARCHAR",
          Quote(name), type.ToString());
    }
  }
  return Status::OK();
}

// By both types: settings of the session change some exports (large or view strings, narrow
// decimals), which then are DuckDB's to make.
ColumnPath PathOf(const duckdb::LogicalType& type, const arrow::DataType& exported) {
  const arrow::Type::type id = exported.id();
  const auto same = [&](arrow::Type::type expected) {
    return id == expected ? ColumnPath::kSame : ColumnPath::kOther;
  };
  switch (type.id()) {
    case LogicalTypeId::BOOLEAN:
      return id == arrow::Type::BOOL ? ColumnPath::kBits : ColumnPath::kOther;
    case LogicalTypeId::TINYINT: return same(arrow::Type::INT8);
    case LogicalTypeId::SMALLINT: return same(arrow::Type::INT16);
    case LogicalTypeId::INTEGER: return same(arrow::Type::INT32);
    case LogicalTypeId::BIGINT: return same(arrow::Type::INT64);
    case LogicalTypeId::UTINYINT: return same(arrow::Type::UINT8);
    case LogicalTypeId::USMALLINT: return same(arrow::Type::UINT16);
    case LogicalTypeId::UINTEGER: return same(arrow::Type::UINT32);
    case LogicalTypeId::UBIGINT: return same(arrow::Type::UINT64);
    case LogicalTypeId::FLOAT: return same(arrow::Type::FLOAT);
    case LogicalTypeId::DOUBLE: return same(arrow::Type::DOUBLE);
    case LogicalTypeId::DATE: return same(arrow::Type::DATE32);
    case LogicalTypeId::TIME: return same(arrow::Type::TIME64);
    case LogicalTypeId::TIMESTAMP:
    case LogicalTypeId::TIMESTAMP_TZ:
    case LogicalTypeId::TIMESTAMP_SEC:
    case LogicalTypeId::TIMESTAMP_MS:
    case LogicalTypeId::TIMESTAMP_NS: return same(arrow::Type::TIMESTAMP);
    case LogicalTypeId::HUGEINT:
      return id == arrow::Type::DECIMAL128 ? ColumnPath::kHuge : ColumnPath::kOther;
    case LogicalTypeId::DECIMAL:
      return id == arrow::Type::DECIMAL128 ? ColumnPath::kDecimal : ColumnPath::kOther;
    case LogicalTypeId::VARCHAR:
      return id == arrow::Type::STRING ? ColumnPath::kText : ColumnPath::kOther;
    case LogicalTypeId::BLOB:
      return id == arrow::Type::BINARY ? ColumnPath::kText : ColumnPath::kOther;
    default: return ColumnPath::kOther;
  }
}

bool IsExtension(const arrow::Field& field) {
  return field.type()->id() == arrow::Type::EXTENSION ||
         (field.metadata() && field.metadata()->Contains("ARROW:extension:name"));
}

}  // namespace

Result<std::shared_ptr<const ResultFormat>> MakeResultFormat(
    duckdb::ClientContext& context, const duckdb::vector<duckdb::LogicalType>& types,
    const duckdb::vector<std::string>& names, bool dictionaries) {
  for (size_t i = 0; i < types.size(); ++i) TL_RETURN_NOT_OK(CheckExportable(types[i], names[i]));
  auto format = std::make_shared<ResultFormat>();
  format->types = types;
  format->options = context.GetClientProperties();
  format->options.time_zone = "UTC";  // of the exported type; the instants are the same in any zone
  ArrowSchema exported;
  duckdb::ArrowConverter::ToArrowSchema(&exported, types, names, format->options);
  TL_ASSIGN_OR_RAISE(format->schema, arrow::ImportSchema(&exported));
  const ArrowExtensions extensions =
      duckdb::ArrowTypeExtensionData::GetExtensionTypes(context, types);
  arrow::FieldVector fields = format->schema->fields(), others;
  for (size_t i = 0; i < types.size(); ++i) {
    const auto extension = extensions.find(i);
    // DuckDB has a converter of its own for HUGEINT, which does not look whether numbers fit.
    const bool plain = types[i].id() == LogicalTypeId::HUGEINT ||
                       (extension == extensions.end() && !IsExtension(*fields[i]));
    ColumnPath path = plain ? PathOf(types[i], *fields[i]->type()) : ColumnPath::kOther;
    if (path == ColumnPath::kOther) {
      if (extension != extensions.end()) {
        format->other_extensions.emplace(others.size(), extension->second);
      }
      others.push_back(fields[i]);
      format->other_types.push_back(types[i]);
    } else if (dictionaries && path == ColumnPath::kText &&
               fields[i]->type()->id() == arrow::Type::STRING) {
      path = ColumnPath::kDictionary;
      fields[i] = fields[i]->WithType(arrow::dictionary(arrow::int32(), arrow::utf8()));
    }
    format->paths.push_back(path);
  }
  if (dictionaries) format->schema = arrow::schema(fields, format->schema->metadata());
  format->other_schema = arrow::schema(std::move(others));
  return format;
}

}  // namespace timelake::sql

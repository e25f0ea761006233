#include "sql/params.h"

#include <cstdio>
#include <string>
#include <utility>

#include <duckdb/common/types.hpp>
#include <duckdb/common/types/value.hpp>

#include "base/text.h"
#include "sql/error.h"

namespace timelake::sql {

namespace {

// "DECIMAL(9, 2)" or the name of a type without parameters.
Result<duckdb::LogicalType> TypeNamed(const std::string& name) {
  const auto refused = [&] {
    return InvalidArgument(
        "parameter type {}: accepted are DECIMAL(precision, scale) and the "
        "names of types without parameters, such as DATE",
        Quote(name));
  };
  unsigned width = 0;
  unsigned scale = 0;
  int end = 0;
  if (std::sscanf(name.c_str(), "DECIMAL(%u,%u)%n", &width, &scale, &end) == 2) {
    if (end != static_cast<int>(name.size()) || width < 1 || width > 38 || scale > width) {
      return refused();
    }
    return duckdb::LogicalType::DECIMAL(static_cast<uint8_t>(width), static_cast<uint8_t>(scale));
  }
  const auto id = duckdb::TransformStringToLogicalTypeId(name);
  switch (id) {
    case duckdb::LogicalTypeId::INVALID:
    case duckdb::LogicalTypeId::UNBOUND:
    case duckdb::LogicalTypeId::LIST:
    case duckdb::LogicalTypeId::ARRAY:
    case duckdb::LogicalTypeId::STRUCT:
    case duckdb::LogicalTypeId::MAP:
    case duckdb::LogicalTypeId::UNION:
    case duckdb::LogicalTypeId::ENUM:
    case duckdb::LogicalTypeId::DECIMAL: return refused();
    default: return duckdb::LogicalType(id);
  }
}

Result<duckdb::Value> ToValue(const ParamValue& value);

Result<duckdb::Value> FromText(const TypedText& text) {
  TL_ASSIGN_OR_RAISE(const auto type, TypeNamed(text.type));
  duckdb::Value value;
  std::string error;
  if (!duckdb::Value(text.text).DefaultTryCastAs(type, value, &error)) {
    return InvalidArgument("parameter {} as {}: {}", Quote(text.text), text.type, error);
  }
  return value;
}

Result<duckdb::Value> FromList(const ParamList& list) {
  duckdb::vector<duckdb::Value> values;
  duckdb::LogicalType type = duckdb::LogicalType::SQLNULL;
  for (const ParamValue& item : list.values) {
    TL_ASSIGN_OR_RAISE(auto value, ToValue(item));
    duckdb::LogicalType common;
    if (!duckdb::LogicalType::TryGetMaxLogicalTypeUnchecked(type, value.type(), common)) {
      return InvalidArgument("list parameter: {} and {} have no type in common", type.ToString(),
                             value.type().ToString());
    }
    type = std::move(common);
    values.push_back(std::move(value));
  }
  return duckdb::Value::LIST(type, std::move(values));
}

struct Converter {
  Result<duckdb::Value> operator()(std::monostate) const { return duckdb::Value(); }
  Result<duckdb::Value> operator()(bool value) const { return duckdb::Value::BOOLEAN(value); }
  Result<duckdb::Value> operator()(int64_t value) const { return duckdb::Value::BIGINT(value); }
  Result<duckdb::Value> operator()(double value) const { return duckdb::Value::DOUBLE(value); }
  Result<duckdb::Value> operator()(const std::string& value) const { return duckdb::Value(value); }
  Result<duckdb::Value> operator()(const TypedText& value) const { return FromText(value); }
  Result<duckdb::Value> operator()(const ParamList& value) const { return FromList(value); }
};

Result<duckdb::Value> ToValue(const ParamValue& value) { return std::visit(Converter(), value); }

}  // namespace

Result<duckdb::case_insensitive_map_t<duckdb::BoundParameterData>> BindParams(
    const Params& params) {
  if (!params.named.empty() && !params.positional.empty()) {
    return InvalidArgument("parameters are given by name and by position: use one of the two");
  }
  duckdb::case_insensitive_map_t<duckdb::BoundParameterData> bound;
  for (const auto& [name, value] : params.named) {
    TL_ASSIGN_OR_RAISE(auto converted, ToValue(value));
    bound[name] = duckdb::BoundParameterData(std::move(converted));
  }
  for (size_t i = 0; i < params.positional.size(); ++i) {
    TL_ASSIGN_OR_RAISE(auto converted, ToValue(params.positional[i]));
    bound[std::to_string(i + 1)] = duckdb::BoundParameterData(std::move(converted));
  }
  return bound;
}

}  // namespace timelake::sql

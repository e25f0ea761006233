#include "sql/params.h"

#include <string>
#include <utility>

#include <duckdb/common/types/value.hpp>

namespace timelake::sql {

namespace {

struct ToValue {
  duckdb::Value operator()(std::monostate) const { return duckdb::Value(); }
  duckdb::Value operator()(bool value) const { return duckdb::Value::BOOLEAN(value); }
  duckdb::Value operator()(int64_t value) const { return duckdb::Value::BIGINT(value); }
  duckdb::Value operator()(double value) const { return duckdb::Value::DOUBLE(value); }
  duckdb::Value operator()(const std::string& value) const { return duckdb::Value(value); }
};

}  // namespace

Result<duckdb::case_insensitive_map_t<duckdb::BoundParameterData>> BindParams(
    const Params& params) {
  if (!params.named.empty() && !params.positional.empty()) {
    return InvalidArgument("parameters are given by name and by position: use one of the two");
  }
  duckdb::case_insensitive_map_t<duckdb::BoundParameterData> bound;
  for (const auto& [name, value] : params.named) {
    bound[name] = duckdb::BoundParameterData(std::visit(ToValue(), value));
  }
  for (size_t i = 0; i < params.positional.size(); ++i) {
    bound[std::to_string(i + 1)] =
        duckdb::BoundParameterData(std::visit(ToValue(), params.positional[i]));
  }
  return bound;
}

}  // namespace timelake::sql

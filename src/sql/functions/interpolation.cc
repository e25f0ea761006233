#include "sql/functions/interpolation.h"

#include <string>

#include <duckdb/function/aggregate_function.hpp>
#include <duckdb/planner/expression.hpp>

#include "base/text.h"
#include "sql/error.h"
#include "sql/functions/constant_argument.h"

namespace timelake::sql {

namespace {

struct MethodData : public duckdb::FunctionData {
  explicit MethodData(Interpolation method) : method(method) {}
  duckdb::unique_ptr<duckdb::FunctionData> Copy() const override {
    return duckdb::make_uniq<MethodData>(method);
  }
  bool Equals(const duckdb::FunctionData& other) const override {
    return method == other.Cast<MethodData>().method;
  }
  Interpolation method;
};

}  // namespace

duckdb::unique_ptr<duckdb::FunctionData> BindMethod(
    duckdb::ClientContext& context, const char* function,
    const duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& arguments, size_t place) {
  Interpolation method = Interpolation::kLocf;
  if (arguments.size() > place) {
    const std::string accepted = "'locf' (each value holds until the next) or 'linear'";
    const auto text = duckdb::StringValue::Get(ConstantArgument(
        context, function, "method", accepted, *arguments[place], duckdb::LogicalType::VARCHAR));
    const std::string name = ToLowerAscii(text);
    if (name == "linear") {
      method = Interpolation::kLinear;
    } else if (name != "locf" && name != "forward_fill") {
      Throw(InvalidArgument("{}: method is {}; it must be {}", function, Quote(text), accepted));
    }
  }
  return duckdb::make_uniq<MethodData>(method);
}

Interpolation MethodOf(const duckdb::AggregateInputData& data) {
  return data.bind_data->Cast<MethodData>().method;
}

}  // namespace timelake::sql

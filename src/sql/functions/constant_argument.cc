#include "sql/functions/constant_argument.h"

#include <duckdb/common/exception/binder_exception.hpp>
#include <duckdb/execution/expression_executor.hpp>

#include "sql/error.h"

namespace timelake::sql {

duckdb::Value ConstantArgument(duckdb::ClientContext& context, const std::string& function,
                               const std::string& argument, const std::string& accepted,
                               const duckdb::Expression& expression,
                               const duckdb::LogicalType& type) {
  // PREPARE comes here before the value is known, EXECUTE again with it.
  if (expression.HasParameter()) throw duckdb::ParameterNotResolvedException();
  if (!expression.IsFoldable()) {
    Throw(InvalidArgument("{}: {} must be the same for all rows: a constant or parameter, {}",
                          function, argument, accepted));
  }
  const auto value = duckdb::ExpressionExecutor::EvaluateScalar(context, expression);
  duckdb::Value cast;
  if (value.IsNull() || !value.DefaultTryCastAs(type, cast, nullptr)) {
    Throw(InvalidArgument("{}: {} is {}; it must be {}", function, argument, value.ToString(),
                          accepted));
  }
  return cast;
}

}  // namespace timelake::sql

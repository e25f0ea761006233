// time_bucket(width, time [, origin | offset | zone [, origin | offset]]) instead of DuckDB's own:
// ICU needs up to a microsecond a row, widths as short texts are wanted, and in a zone the grid
// follows the zone's clock for widths under a day as well.

#include <optional>
#include <string>
#include <utility>

#include <duckdb/common/types/date.hpp>
#include <duckdb/common/types/interval.hpp>
#include <duckdb/common/types/timestamp.hpp>
#include <duckdb/execution/expression_executor_state.hpp>
#include <duckdb/function/function_set.hpp>
#include <duckdb/main/extension/extension_loader.hpp>
#include <duckdb/planner/expression/bound_function_expression.hpp>

#include "sql/error.h"
#include "sql/functions/bucket_arguments.h"
#include "sql/functions/register.h"

namespace timelake::sql {

namespace {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;
using duckdb::Vector;

constexpr char kFunction[] = "time_bucket";

[[noreturn]] void ThrowOutOfRange() {
  Throw(InvalidArgument("{}: the start of the bucket is out of range", kFunction));
}

// The start of the bucket around a finite time; it may not be a value that means infinity.
int64_t BucketOf(BucketGrid* grid, int64_t time) {
  int64_t bucket = 0;
  if (!grid->Floor(time, &bucket) || !duckdb::Timestamp::IsFinite(duckdb::timestamp_t(bucket))) {
    ThrowOutOfRange();
  }
  return bucket;
}

duckdb::timestamp_t BucketOf(BucketGrid* grid, duckdb::timestamp_t time) {
  if (!duckdb::Timestamp::IsFinite(time)) return time;
  return duckdb::timestamp_t(BucketOf(grid, time.value));
}

duckdb::date_t BucketOf(BucketGrid* grid, duckdb::date_t date) {
  if (!duckdb::Date::IsFinite(date)) return date;
  int64_t time = 0;
  if (__builtin_mul_overflow(int64_t{date.days}, kMicrosPerDay, &time)) ThrowOutOfRange();
  return duckdb::date_t(static_cast<int32_t>(DaysFromMicros(BucketOf(grid, time))));
}

struct LocalState : public duckdb::FunctionLocalState {
  explicit LocalState(duckdb::ClientContext& context) : maker(context, kFunction) {}
  GridMaker maker;
};

duckdb::unique_ptr<duckdb::FunctionLocalState> InitLocal(
    duckdb::ExpressionState& state, const duckdb::BoundFunctionExpression& expr,
    duckdb::FunctionData* data) {
  return duckdb::make_uniq<LocalState>(state.GetContext());
}

template <typename T>
void Execute(duckdb::DataChunk& args, duckdb::ExpressionState& state, Vector& result) {
  auto& local = duckdb::ExecuteFunctionState::GetFunctionState(state)->Cast<LocalState>();
  const bool all_constant = args.AllConstant();
  const duckdb::idx_t count = all_constant ? 1 : args.size();
  BucketArguments arguments(args, count);
  duckdb::UnifiedVectorFormat times;
  args.data[1].ToUnifiedFormat(count, times);
  const T* input = duckdb::UnifiedVectorFormat::GetData<T>(times);

  result.SetVectorType(duckdb::VectorType::FLAT_VECTOR);
  T* output = duckdb::FlatVector::GetData<T>(result);
  auto& valid = duckdb::FlatVector::Validity(result);
  BucketGrid* grid = nullptr;
  for (duckdb::idx_t row = 0; row < count; ++row) {
    if (row == 0 || !arguments.constant()) {
      const auto given = arguments.At(row, local.maker);
      grid = given ? local.maker.Get(*given) : nullptr;
    }
    const auto index = times.sel->get_index(row);
    if (!grid || !times.validity.RowIsValid(index)) {
      valid.SetInvalid(row);
    } else {
      output[row] = BucketOf(grid, input[index]);
    }
  }
  if (all_constant) result.SetVectorType(duckdb::VectorType::CONSTANT_VECTOR);
}

// Reports wrong constants also where no row is read.
duckdb::unique_ptr<duckdb::FunctionData> Bind(
    duckdb::ClientContext& context, duckdb::ScalarFunction& function,
    duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& arguments) {
  GridMaker maker(context, kFunction);
  const auto given = ConstantBucketArguments(context, function.arguments, arguments, maker);
  if (given) maker.Get(*given);
  return nullptr;
}

duckdb::ScalarFunction Make(duckdb::vector<LogicalType> arguments) {
  const LogicalType time = arguments[1];
  const auto execute = time.id() == LogicalTypeId::DATE
                           ? duckdb::scalar_function_t(Execute<duckdb::date_t>)
                           : duckdb::scalar_function_t(Execute<duckdb::timestamp_t>);
  duckdb::ScalarFunction function(kFunction, std::move(arguments), time, execute);
  function.SetBindCallback(Bind);
  function.SetInitStateCallback(InitLocal);
  function.SetFallible();
  return function;
}

}  // namespace

void RegisterTimeBucket(duckdb::ExtensionLoader& loader) {
  duckdb::ScalarFunctionSet set(kFunction);
  const LogicalType text = LogicalType::VARCHAR, interval = LogicalType::INTERVAL;
  for (const LogicalType& width : {interval, text}) {
    for (const LogicalType& time :
         {LogicalType(LogicalType::TIMESTAMP), LogicalType(LogicalType::TIMESTAMP_TZ),
          LogicalType(LogicalType::DATE)}) {
      set.AddFunction(Make({width, time}));
      set.AddFunction(Make({width, time, time}));
      set.AddFunction(Make({width, time, interval}));
      set.AddFunction(Make({width, time, text}));
    }
    const LogicalType instant = LogicalType::TIMESTAMP_TZ;
    set.AddFunction(Make({width, instant, text, instant}));
    set.AddFunction(Make({width, instant, text, interval}));
  }
  loader.RegisterFunction(std::move(set));
}

}  // namespace timelake::sql

// merge_time_weighted_mean(mean, first_time, first, last_time, last [, method]): the mean of a
// curve of which only stretches are known, one a row. For rollups.

#include <duckdb/function/function_set.hpp>
#include <duckdb/main/extension/extension_loader.hpp>

#include "sql/error.h"
#include "sql/functions/interpolation.h"
#include "sql/functions/point_list.h"
#include "sql/functions/register.h"

namespace timelake::sql {

namespace {

using duckdb::AggregateInputData;
using duckdb::FlatVector;
using duckdb::idx_t;
using duckdb::LogicalType;
using duckdb::UnifiedVectorFormat;
using duckdb::Vector;

constexpr char kName[] = "merge_time_weighted_mean";

template <typename T>
class Column {
 public:
  Column(Vector& vector, idx_t count) {
    vector.ToUnifiedFormat(count, format_);
    values_ = UnifiedVectorFormat::GetDataUnsafe<T>(format_);
  }
  // False: NULL.
  bool Read(idx_t row, T* value) const {
    const idx_t place = format_.sel->get_index(row);
    if (!format_.validity.RowIsValid(place)) return false;
    *value = values_[place];
    return true;
  }

 private:
  UnifiedVectorFormat format_;
  const T* values_;
};

struct Stretches {
  using State = ArenaList<Stretch>;

  static void Initialize(State& state) { state = State{}; }

  template <typename StateOf>
  static void Rows(Vector inputs[], AggregateInputData& data, idx_t count, StateOf state) {
    const Column<double> mean(inputs[0], count), first(inputs[2], count), last(inputs[4], count);
    const Column<int64_t> first_time(inputs[1], count), last_time(inputs[3], count);
    for (idx_t row = 0; row < count; ++row) {
      Stretch it;
      if (mean.Read(row, &it.mean) && first_time.Read(row, &it.first_time) &&
          first.Read(row, &it.first) && last_time.Read(row, &it.last_time) &&
          last.Read(row, &it.last)) {
        state(row).Add(it, data.allocator);
      }
    }
  }

  static void Merge(const State& source, State& target, AggregateInputData& data) {
    target.Merge(source, data);
  }

  static void Result(State& state, AggregateInputData& data, Vector& result, idx_t row) {
    auto stretches = state.Get();
    if (stretches.empty()) return FlatVector::SetNull(result, row, true);
    const auto mean = TimeWeightedMean(&stretches, MethodOf(data));
    if (!mean) Throw(InvalidArgument("{}: stretches of time overlap", kName));
    FlatVector::GetData<double>(result)[row] = *mean;
  }
};

duckdb::unique_ptr<duckdb::FunctionData> Bind(
    duckdb::ClientContext& context, duckdb::AggregateFunction&,
    duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& arguments) {
  return BindMethod(context, kName, arguments, 5);
}

}  // namespace

void RegisterMergeTimeWeighted(duckdb::ExtensionLoader& loader) {
  const LogicalType real = LogicalType::DOUBLE;
  duckdb::AggregateFunctionSet set(kName);
  for (const LogicalType& time :
       {LogicalType(LogicalType::TIMESTAMP), LogicalType(LogicalType::TIMESTAMP_TZ)}) {
    duckdb::vector<LogicalType> arguments = {real, time, real, time, real};
    set.AddFunction(AggregateOf<Stretches>::Make(kName, arguments, real, Bind));
    arguments.push_back(LogicalType::VARCHAR);
    set.AddFunction(AggregateOf<Stretches>::Make(kName, arguments, real, Bind));
  }
  loader.RegisterFunction(std::move(set));
}

}  // namespace timelake::sql

// m4(time, value), m4(points) and lttb(time, value, n): few points that draw the same curve.

#include <span>
#include <string>
#include <utility>

#include <duckdb/function/function_set.hpp>
#include <duckdb/main/extension/extension_loader.hpp>

#include "sql/error.h"
#include "sql/functions/constant_argument.h"
#include "sql/functions/point_list.h"
#include "sql/functions/register.h"

namespace timelake::sql {

namespace {

using duckdb::AggregateInputData;
using duckdb::FlatVector;
using duckdb::idx_t;
using duckdb::ListVector;
using duckdb::LogicalType;
using duckdb::StructVector;
using duckdb::UnifiedVectorFormat;
using duckdb::Vector;

LogicalType PointsType(const LogicalType& time) {
  return LogicalType::LIST(LogicalType::STRUCT({{"time", time}, {"value", LogicalType::DOUBLE}}));
}

void AppendPoints(const Point<double>* points, idx_t count, Vector& result, idx_t row) {
  if (count == 0) return FlatVector::SetNull(result, row, true);
  const idx_t offset = ListVector::GetListSize(result);
  ListVector::Reserve(result, offset + count);
  auto& fields = StructVector::GetEntries(ListVector::GetEntry(result));
  auto* times = FlatVector::GetData<int64_t>(*fields[0]);
  auto* values = FlatVector::GetData<double>(*fields[1]);
  for (idx_t i = 0; i < count; ++i) {
    times[offset + i] = points[i].time;
    values[offset + i] = points[i].value;
  }
  ListVector::SetListSize(result, offset + count);
  FlatVector::GetData<duckdb::list_entry_t>(result)[row] = {offset, count};
}

struct M4Base {
  using State = M4;
  static void Initialize(State& state) { state = State{}; }
  static void Merge(const State& source, State& target, AggregateInputData&) {
    target.Merge(source);
  }
  static void Result(State& state, AggregateInputData&, Vector& result, idx_t row) {
    Point<double> points[4];
    AppendPoints(points, static_cast<idx_t>(state.Points(points)), result, row);
  }
};

struct M4OfRows : M4Base {
  template <typename StateOf>
  static void Rows(Vector inputs[], AggregateInputData&, idx_t count, StateOf state) {
    ForEachPoint<double>(inputs, count, true,
                         [&](idx_t row, const Point<double>& point) { state(row).Add(point); });
  }
};

// Of what m4 returned for narrower groups.
struct M4OfLists : M4Base {
  template <typename StateOf>
  static void Rows(Vector inputs[], AggregateInputData&, idx_t count, StateOf state) {
    UnifiedVectorFormat lists;
    inputs[0].ToUnifiedFormat(count, lists);
    const auto* list = UnifiedVectorFormat::GetDataUnsafe<duckdb::list_entry_t>(lists);
    auto& entries = ListVector::GetEntry(inputs[0]);
    const idx_t size = ListVector::GetListSize(inputs[0]);
    UnifiedVectorFormat structs, times, values;
    entries.ToUnifiedFormat(size, structs);
    auto& fields = StructVector::GetEntries(entries);
    fields[0]->ToUnifiedFormat(size, times);
    fields[1]->ToUnifiedFormat(size, values);
    const auto* time = UnifiedVectorFormat::GetDataUnsafe<duckdb::timestamp_t>(times);
    const auto* value = UnifiedVectorFormat::GetDataUnsafe<double>(values);
    for (idx_t row = 0; row < count; ++row) {
      const idx_t index = lists.sel->get_index(row);
      if (!lists.validity.RowIsValid(index)) continue;
      for (idx_t i = list[index].offset; i < list[index].offset + list[index].length; ++i) {
        const idx_t at = structs.sel->get_index(i);
        const idx_t t = times.sel->get_index(at), v = values.sel->get_index(at);
        if (!structs.validity.RowIsValid(at) || !times.validity.RowIsValid(t) ||
            !values.validity.RowIsValid(v) || !duckdb::Timestamp::IsFinite(time[t]) ||
            std::isnan(value[v])) {
          continue;
        }
        state(row).Add({time[t].value, value[v]});
      }
    }
  }
};

constexpr int64_t kMaxLttb = 1'000'000;

struct LttbData : public duckdb::FunctionData {
  explicit LttbData(int64_t n) : n(n) {}
  duckdb::unique_ptr<duckdb::FunctionData> Copy() const override {
    return duckdb::make_uniq<LttbData>(n);
  }
  bool Equals(const duckdb::FunctionData& other) const override {
    return n == other.Cast<LttbData>().n;
  }
  int64_t n;
};

duckdb::unique_ptr<duckdb::FunctionData> BindLttb(
    duckdb::ClientContext& context, duckdb::AggregateFunction&,
    duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& arguments) {
  const std::string accepted = "a number of points from 2 to 1000000";
  const auto n = duckdb::BigIntValue::Get(
      ConstantArgument(context, "lttb", "n", accepted, *arguments[2], LogicalType::BIGINT));
  if (n < 2 || n > kMaxLttb) {
    Throw(InvalidArgument("lttb: n is {}; it must be {}", n, accepted));
  }
  return duckdb::make_uniq<LttbData>(n);
}

struct LttbOfRows {
  struct State : PointList<double> {
    const WindowPoints<double>* window;  // only of a window's partition
  };
  static void Initialize(State& state) { state = State{}; }
  template <typename StateOf>
  static void Rows(Vector inputs[], AggregateInputData& data, idx_t count, StateOf state) {
    ForEachPoint<double>(inputs, count, true, [&](idx_t row, const Point<double>& point) {
      state(row).Add(point, data.allocator);
    });
  }
  static void Merge(const State& source, State& target, AggregateInputData& data) {
    target.Merge(source, data);
  }
  static void Result(State& state, AggregateInputData& data, Vector& result, idx_t row) {
    auto points = state.Get();
    SortPoints(&points);
    Put(points, data, result, row);
  }

  static void WindowInit(AggregateInputData& data, const duckdb::WindowPartitionInput& partition,
                         duckdb::data_ptr_t state) {
    reinterpret_cast<State*>(state)->window =
        WindowPoints<double>::Make(data, partition, true, false);
  }

  static void Window(AggregateInputData& data, const duckdb::WindowPartitionInput&,
                     duckdb::const_data_ptr_t state, duckdb::data_ptr_t,
                     const duckdb::SubFrames& frames, Vector& result, idx_t row) {
    const auto& window = *reinterpret_cast<const State*>(state)->window;
    std::vector<Point<double>> copy;
    const auto frame = window.Of(frames, &copy);
    if (frame.in_place) return Put(frame.points, data, result, row);
    std::vector<Point<double>> sorted(frame.points.begin(), frame.points.end());
    SortPoints(&sorted);
    Put(sorted, data, result, row);
  }

  static void Put(std::span<const Point<double>> points, const AggregateInputData& data,
                  Vector& result, idx_t row) {
    const auto chosen = Lttb(points, static_cast<size_t>(data.bind_data->Cast<LttbData>().n));
    AppendPoints(chosen.data(), chosen.size(), result, row);
  }
};

}  // namespace

void RegisterPlots(duckdb::ExtensionLoader& loader) {
  duckdb::AggregateFunctionSet m4("m4"), lttb("lttb");
  for (const LogicalType& time :
       {LogicalType(LogicalType::TIMESTAMP), LogicalType(LogicalType::TIMESTAMP_TZ)}) {
    const LogicalType points = PointsType(time), real = LogicalType::DOUBLE;
    auto rows = AggregateOf<M4OfRows>::Make(m4.name, {time, real}, points);
    auto lists = AggregateOf<M4OfLists>::Make(m4.name, {points}, points);
    for (auto* function : {&rows, &lists}) {
      function->SetDistinctDependent(duckdb::AggregateDistinctDependent::NOT_DISTINCT_DEPENDENT);
      m4.AddFunction(std::move(*function));
    }
    lttb.AddFunction(AggregateOf<LttbOfRows>::Make(lttb.name, {time, real, LogicalType::BIGINT},
                                                   points, BindLttb));
  }
  loader.RegisterFunction(std::move(m4));
  loader.RegisterFunction(std::move(lttb));
}

}  // namespace timelake::sql

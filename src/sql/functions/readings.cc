// time_weighted_mean(time, value [, method]) and, for counters and gauges, rate, increase and
// delta(time, value).

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>

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
using duckdb::Vector;

constexpr char kTimeWeightedMean[] = "time_weighted_mean";

duckdb::unique_ptr<duckdb::FunctionData> BindMean(
    duckdb::ClientContext& context, duckdb::AggregateFunction&,
    duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& arguments) {
  return BindMethod(context, kTimeWeightedMean, arguments, 2);
}

// Collects the readings; `Op` adds up those of one group in order of time, one a time:
//   using Running = ...;                               // trivially copyable
//   static Running Start(const AggregateInputData&);
//   static std::optional<Result> Of(const Running&, std::span<const Point<V>> added, data);
template <typename V, typename Op>
struct OfReadings {
  using Points = std::span<const Point<V>>;
  using Running = typename Op::Running;

  // What a thread knows of the last frame of a window: most often the next one only adds to it
  // (rows from the start of the partition on), and need not begin anew.
  struct LastFrame {
    Points points;
    Running running;
  };

  struct State : PointList<V> {
    const WindowPoints<V>* window;  // only of a window's partition
    LastFrame* last_frame;          // only of a thread at a window
  };

  static void Initialize(State& state) { state = State{}; }

  template <typename StateOf>
  static void Rows(Vector inputs[], AggregateInputData& data, idx_t count, StateOf state) {
    ForEachPoint<V>(inputs, count, Op::kSkipNan, [&](idx_t row, const Point<V>& point) {
      state(row).Add(point, data.allocator);
    });
  }

  static void Merge(const State& source, State& target, AggregateInputData& data) {
    target.Merge(source, data);
  }

  static void Result(State& state, AggregateInputData& data, Vector& result, idx_t row) {
    auto points = state.Get();
    KeepOnePerTime(&points);
    PutAll(points, data, result, row);
  }

  static void WindowInit(AggregateInputData& data, const duckdb::WindowPartitionInput& partition,
                         duckdb::data_ptr_t state) {
    reinterpret_cast<State*>(state)->window =
        WindowPoints<V>::Make(data, partition, Op::kSkipNan, true);
  }

  static void Window(AggregateInputData& data, const duckdb::WindowPartitionInput&,
                     duckdb::const_data_ptr_t partition, duckdb::data_ptr_t thread,
                     const duckdb::SubFrames& frames, Vector& result, idx_t row) {
    const auto& window = *reinterpret_cast<const State*>(partition)->window;
    std::vector<Point<V>> copy;
    const auto frame = window.Of(frames, &copy);
    const Points points = frame.points;
    if (!frame.in_place) {
      std::vector<Point<V>> sorted(points.begin(), points.end());
      KeepOnePerTime(&sorted);
      return PutAll(sorted, data, result, row);
    }
    auto*& last = reinterpret_cast<State*>(thread)->last_frame;
    if (!last) {
      last = reinterpret_cast<LastFrame*>(data.allocator.AllocateAligned(sizeof(LastFrame)));
      new (last) LastFrame{{}, Op::Start(data)};
    }
    if (last->points.data() != points.data() || last->points.size() > points.size()) {
      *last = LastFrame{points.first(0), Op::Start(data)};
    }
    for (const auto& point : points.subspan(last->points.size())) last->running.Add(point);
    last->points = points;
    Put(last->running, points, data, result, row);
  }

  static void PutAll(Points points, const AggregateInputData& data, Vector& result, idx_t row) {
    Running running = Op::Start(data);
    for (const auto& point : points) running.Add(point);
    Put(running, points, data, result, row);
  }

  static void Put(const Running& running, Points points, const AggregateInputData& data,
                  Vector& result, idx_t row) {
    const auto value = points.empty() ? std::nullopt : Op::Of(running, points, data);
    if (!value) return FlatVector::SetNull(result, row, true);
    using Type = std::decay_t<decltype(*value)>;
    FlatVector::GetData<Type>(result)[row] = *value;
  }

  static duckdb::AggregateFunction Make(const std::string& name,
                                        const duckdb::vector<LogicalType>& arguments,
                                        const LogicalType& result,
                                        duckdb::bind_aggregate_function_t bind = nullptr) {
    auto function = AggregateOf<OfReadings>::Make(name, arguments, result, bind);
    function.SetWindowInitCallback(WindowInit);
    function.SetWindowCallback(Window);
    return function;
  }
};

struct TimeWeightedMeanOp {
  using Running = Area;
  static constexpr bool kSkipNan = false;
  static Interpolation Method(const AggregateInputData& data) { return MethodOf(data); }
  static Area Start(const AggregateInputData& data) { return Area(Method(data)); }
  static std::optional<double> Of(const Area& area, std::span<const Point<double>> points,
                                  const AggregateInputData& data) {
    const double mean = area.Mean();
    return std::isfinite(mean) ? mean : TimeWeightedMean(points, Method(data));
  }
};

template <typename T>
T OrOutOfRange(const std::optional<T>& value, const char* function) {
  if (!value) Throw(InvalidArgument("{}: the result is out of the range of BIGINT", function));
  return *value;
}

template <typename V>
struct CounterOp {
  using Running = CounterSteps<V>;
  static constexpr bool kSkipNan = true;
  static Running Start(const AggregateInputData&) { return {}; }
};

template <typename V>
struct IncreaseOp : CounterOp<V> {
  static std::optional<V> Of(const CounterSteps<V>& steps, std::span<const Point<V>> points,
                             const AggregateInputData&) {
    if (points.size() < 2) return std::nullopt;
    return OrOutOfRange(steps.Increase(), "increase");
  }
};

template <typename V>
struct RateOp : CounterOp<V> {
  static std::optional<double> Of(const CounterSteps<V>& steps, std::span<const Point<V>> points,
                                  const AggregateInputData&) {
    if (points.size() < 2) return std::nullopt;
    return static_cast<double>(OrOutOfRange(steps.Increase(), "rate")) /
           SecondsBetween(points.front().time, points.back().time);
  }
};

// delta needs only the two ends.
template <typename V>
struct DeltaOf {
  struct State {
    Point<V> first, last;
    bool set;
  };

  static void Initialize(State& state) { state = State{}; }

  static void Add(State& state, const Point<V>& point) {
    if (!state.set) {
      state = State{point, point, true};
      return;
    }
    // Of equal times the greatest value, as everywhere.
    if (point.time < state.first.time ||
        (point.time == state.first.time && ValueLess(state.first.value, point.value))) {
      state.first = point;
    }
    if (PointLess(state.last, point)) state.last = point;
  }

  template <typename StateOf>
  static void Rows(Vector inputs[], AggregateInputData&, idx_t count, StateOf state) {
    ForEachPoint<V>(inputs, count, true,
                    [&](idx_t row, const Point<V>& point) { Add(state(row), point); });
  }

  static void Merge(const State& source, State& target, AggregateInputData&) {
    if (!source.set) return;
    Add(target, source.first);
    Add(target, source.last);
  }

  static void Result(State& state, AggregateInputData&, Vector& result, idx_t row) {
    if (!state.set || state.first.time == state.last.time) {
      return FlatVector::SetNull(result, row, true);
    }
    FlatVector::GetData<V>(result)[row] = OrOutOfRange(Delta(state.first, state.last), "delta");
  }
};

}  // namespace

void RegisterReadings(duckdb::ExtensionLoader& loader) {
  const LogicalType real = LogicalType::DOUBLE, whole = LogicalType::BIGINT;
  duckdb::AggregateFunctionSet mean(kTimeWeightedMean), increase("increase"), rate("rate"),
      delta("delta");
  using Mean = OfReadings<double, TimeWeightedMeanOp>;
  for (const LogicalType& time :
       {LogicalType(LogicalType::TIMESTAMP), LogicalType(LogicalType::TIMESTAMP_TZ)}) {
    mean.AddFunction(Mean::Make(mean.name, {time, real}, real, BindMean));
    mean.AddFunction(Mean::Make(mean.name, {time, real, LogicalType::VARCHAR}, real, BindMean));
    increase.AddFunction(
        OfReadings<double, IncreaseOp<double>>::Make(increase.name, {time, real}, real));
    increase.AddFunction(
        OfReadings<int64_t, IncreaseOp<int64_t>>::Make(increase.name, {time, whole}, whole));
    rate.AddFunction(OfReadings<double, RateOp<double>>::Make(rate.name, {time, real}, real));
    rate.AddFunction(OfReadings<int64_t, RateOp<int64_t>>::Make(rate.name, {time, whole}, real));
    delta.AddFunction(AggregateOf<DeltaOf<double>>::Make(delta.name, {time, real}, real));
    delta.AddFunction(AggregateOf<DeltaOf<int64_t>>::Make(delta.name, {time, whole}, whole));
  }
  for (auto* set : {&mean, &increase, &rate, &delta}) loader.RegisterFunction(std::move(*set));
}

}  // namespace timelake::sql

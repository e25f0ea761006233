#include "sql/functions/merge_aggregates.h"

#include <duckdb/common/vector_operations/binary_executor.hpp>
#include <duckdb/function/scalar_function.hpp>

#include "sql/functions/aggregate.h"

namespace timelake::sql {

namespace {

using duckdb::AggregateInputData;
using duckdb::FlatVector;
using duckdb::idx_t;
using duckdb::LogicalType;
using duckdb::UnifiedVectorFormat;
using duckdb::Vector;

struct Counts {
  struct State {
    int64_t count;
  };

  static void Initialize(State& state) { state.count = 0; }

  template <typename StateOf>
  static void Rows(Vector inputs[], AggregateInputData&, idx_t count, StateOf state) {
    UnifiedVectorFormat counts;
    inputs[0].ToUnifiedFormat(count, counts);
    const auto* values = UnifiedVectorFormat::GetDataUnsafe<int64_t>(counts);
    for (idx_t row = 0; row < count; ++row) {
      state(row).count += values[counts.sel->get_index(row)];
    }
  }

  static void Merge(const State& source, State& target, AggregateInputData&) {
    target.count += source.count;
  }

  static void Result(State& state, AggregateInputData&, Vector& result, idx_t row) {
    FlatVector::GetData<int64_t>(result)[row] = state.count;
  }
};

struct Averages {
  struct State {
    double sum;
    int64_t count;
  };

  static void Initialize(State& state) { state = State{}; }

  template <typename StateOf>
  static void Rows(Vector inputs[], AggregateInputData&, idx_t count, StateOf state) {
    UnifiedVectorFormat sums, counts;
    inputs[0].ToUnifiedFormat(count, sums);
    inputs[1].ToUnifiedFormat(count, counts);
    const auto* sum = UnifiedVectorFormat::GetDataUnsafe<double>(sums);
    const auto* values = UnifiedVectorFormat::GetDataUnsafe<int64_t>(counts);
    for (idx_t row = 0; row < count; ++row) {
      const idx_t s = sums.sel->get_index(row);
      if (!sums.validity.RowIsValid(s)) continue;
      state(row).sum += sum[s];
      state(row).count += values[counts.sel->get_index(row)];
    }
  }

  static void Merge(const State& source, State& target, AggregateInputData&) {
    target.sum += source.sum;
    target.count += source.count;
  }

  static void Result(State& state, AggregateInputData&, Vector& result, idx_t row) {
    if (state.count == 0) return FlatVector::SetNull(result, row, true);
    FlatVector::GetData<double>(result)[row] = state.sum / static_cast<double>(state.count);
  }
};

__extension__ typedef __int128 Whole;

struct Sums {
  // In halves, as states are aligned to eight bytes.
  struct State {
    uint64_t low;
    uint64_t high;
    bool any;
  };

  static void Initialize(State& state) { state = State{}; }

  static void Add(State& state, Whole value) {
    const Whole sum = Of(state) + value;
    state = State{static_cast<uint64_t>(sum), static_cast<uint64_t>(sum >> 64), true};
  }

  static Whole Of(const State& state) {
    return Whole{static_cast<int64_t>(state.high)} * (Whole{1} << 64) + Whole{state.low};
  }

  template <typename StateOf>
  static void Rows(Vector inputs[], AggregateInputData&, idx_t count, StateOf state) {
    UnifiedVectorFormat highs, lows;
    inputs[0].ToUnifiedFormat(count, highs);
    inputs[1].ToUnifiedFormat(count, lows);
    const auto* high = UnifiedVectorFormat::GetDataUnsafe<int64_t>(highs);
    const auto* low = UnifiedVectorFormat::GetDataUnsafe<int64_t>(lows);
    for (idx_t row = 0; row < count; ++row) {
      const idx_t h = highs.sel->get_index(row);
      if (!highs.validity.RowIsValid(h)) continue;
      Add(state(row), Whole{high[h]} * (Whole{1} << 32) + low[lows.sel->get_index(row)]);
    }
  }

  static void Merge(const State& source, State& target, AggregateInputData&) {
    if (source.any) Add(target, Of(source));
  }

  static duckdb::hugeint_t ToHugeint(const State& state) {
    duckdb::hugeint_t value;
    value.lower = state.low;
    value.upper = static_cast<int64_t>(state.high);
    return value;
  }

  static void Result(State& state, AggregateInputData&, Vector& result, idx_t row) {
    if (!state.any) return FlatVector::SetNull(result, row, true);
    FlatVector::GetData<duckdb::hugeint_t>(result)[row] = ToHugeint(state);
  }
};

// NULL stays NULL.
void SumOfHalves(duckdb::DataChunk& input, duckdb::ExpressionState&, Vector& result) {
  duckdb::BinaryExecutor::Execute<int64_t, int64_t, duckdb::hugeint_t>(
      input.data[0], input.data[1], result, input.size(), [](int64_t high, int64_t low) {
        Sums::State state{};
        Sums::Add(state, Whole{high} * (Whole{1} << 32) + low);
        return Sums::ToHugeint(state);
      });
}

void AverageOf(duckdb::DataChunk& input, duckdb::ExpressionState&, Vector& result) {
  duckdb::BinaryExecutor::Execute<double, int64_t, double>(
      input.data[0], input.data[1], result, input.size(),
      [](double sum, int64_t count) { return sum / static_cast<double>(count); });
}

}  // namespace

duckdb::AggregateFunction MergeSums() {
  return AggregateOf<Sums>::Make("merge_sums", {LogicalType::BIGINT, LogicalType::BIGINT},
                                 LogicalType::HUGEINT);
}

duckdb::AggregateFunction MergeCounts() {
  return AggregateOf<Counts>::Make("merge_counts", {LogicalType::BIGINT}, LogicalType::BIGINT);
}

duckdb::AggregateFunction MergeAverages() {
  return AggregateOf<Averages>::Make("merge_averages", {LogicalType::DOUBLE, LogicalType::BIGINT},
                                     LogicalType::DOUBLE);
}

duckdb::ScalarFunction MergedSum() {
  return duckdb::ScalarFunction("merged_sum", {LogicalType::BIGINT, LogicalType::BIGINT},
                                LogicalType::HUGEINT, SumOfHalves);
}

duckdb::ScalarFunction MergedAverage() {
  return duckdb::ScalarFunction("merged_average", {LogicalType::DOUBLE, LogicalType::BIGINT},
                                LogicalType::DOUBLE, AverageOf);
}

}  // namespace timelake::sql

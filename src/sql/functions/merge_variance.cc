// merge_var_pop(count, mean, m2) and its kin: the deviation of values of which only groups are
// known, by how many they are, their mean and the sum of squared differences from it. For rollups.

#include <cmath>

#include <duckdb/main/extension/extension_loader.hpp>

#include "sql/functions/aggregate.h"
#include "sql/functions/register.h"

namespace timelake::sql {

namespace {

using duckdb::AggregateInputData;
using duckdb::FlatVector;
using duckdb::idx_t;
using duckdb::LogicalType;
using duckdb::UnifiedVectorFormat;
using duckdb::Vector;

template <bool kSample, bool kRoot>
struct Deviation {
  struct State {
    int64_t count;
    double mean;
    double m2;
  };

  static void Initialize(State& state) { state = State{}; }

  // Chan, Golub and LeVeque: updating formulae and a pairwise algorithm for computing sample
  // variances (1979).
  static void Add(State& state, int64_t count, double mean, double m2) {
    if (count <= 0) return;
    const double a = static_cast<double>(state.count), b = static_cast<double>(count);
    const double apart = mean - state.mean;
    state.m2 += m2 + apart * apart * a * b / (a + b);
    state.mean += apart * b / (a + b);
    state.count += count;
  }

  template <typename StateOf>
  static void Rows(Vector inputs[], AggregateInputData&, idx_t count, StateOf state) {
    UnifiedVectorFormat counts, means, squares;
    inputs[0].ToUnifiedFormat(count, counts);
    inputs[1].ToUnifiedFormat(count, means);
    inputs[2].ToUnifiedFormat(count, squares);
    const auto* number = UnifiedVectorFormat::GetDataUnsafe<int64_t>(counts);
    const auto* mean = UnifiedVectorFormat::GetDataUnsafe<double>(means);
    const auto* m2 = UnifiedVectorFormat::GetDataUnsafe<double>(squares);
    for (idx_t row = 0; row < count; ++row) {
      const idx_t c = counts.sel->get_index(row), m = means.sel->get_index(row),
                  s = squares.sel->get_index(row);
      if (!counts.validity.RowIsValid(c) || !means.validity.RowIsValid(m) ||
          !squares.validity.RowIsValid(s)) {
        continue;
      }
      Add(state(row), number[c], mean[m], m2[s]);
    }
  }

  static void Merge(const State& source, State& target, AggregateInputData&) {
    Add(target, source.count, source.mean, source.m2);
  }

  static void Result(State& state, AggregateInputData&, Vector& result, idx_t row) {
    const int64_t divisor = state.count - (kSample ? 1 : 0);
    if (divisor <= 0) return FlatVector::SetNull(result, row, true);
    const double variance = state.m2 / static_cast<double>(divisor);
    FlatVector::GetData<double>(result)[row] = kRoot ? std::sqrt(variance) : variance;
  }
};

template <bool kSample, bool kRoot>
void Add(duckdb::ExtensionLoader& loader, const char* name) {
  loader.RegisterFunction(AggregateOf<Deviation<kSample, kRoot>>::Make(
      name, {LogicalType::BIGINT, LogicalType::DOUBLE, LogicalType::DOUBLE}, LogicalType::DOUBLE));
}

}  // namespace

void RegisterMergeVariance(duckdb::ExtensionLoader& loader) {
  Add<true, true>(loader, "merge_stddev_samp");
  Add<false, true>(loader, "merge_stddev_pop");
  Add<true, false>(loader, "merge_var_samp");
  Add<false, false>(loader, "merge_var_pop");
}

}  // namespace timelake::sql

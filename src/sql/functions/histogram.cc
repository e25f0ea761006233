// histogram(value, min, max, n), beside DuckDB's histogram(value) and histogram(value, bins).

#include <string>
#include <utility>

#include <duckdb/main/database.hpp>
#include <duckdb/main/extension/extension_loader.hpp>

#include "sql/error.h"
#include "sql/functions/aggregate.h"
#include "sql/functions/constant_argument.h"
#include "sql/functions/extend_aggregate.h"
#include "sql/functions/histogram_bins.h"
#include "sql/functions/register.h"

namespace timelake::sql {

namespace {

using duckdb::AggregateInputData;
using duckdb::FlatVector;
using duckdb::idx_t;
using duckdb::ListVector;
using duckdb::LogicalType;
using duckdb::UnifiedVectorFormat;
using duckdb::Vector;

constexpr int64_t kMaxBins = 10'000;

struct BinsData : public duckdb::FunctionData {
  explicit BinsData(HistogramBins bins) : bins(bins) {}
  duckdb::unique_ptr<duckdb::FunctionData> Copy() const override {
    return duckdb::make_uniq<BinsData>(bins);
  }
  bool Equals(const duckdb::FunctionData& other) const override {
    return bins == other.Cast<BinsData>().bins;
  }
  HistogramBins bins;
};

const HistogramBins& BinsOf(const AggregateInputData& data) {
  return data.bind_data->Cast<BinsData>().bins;
}

struct HistogramOp {
  struct State {
    int64_t* counts;  // null until the first value
  };

  static void Initialize(State& state) { state.counts = nullptr; }

  static int64_t* Counts(State& state, AggregateInputData& data) {
    if (!state.counts) {
      const auto bytes = static_cast<size_t>(BinsOf(data).n + 2) * sizeof(int64_t);
      state.counts = reinterpret_cast<int64_t*>(data.allocator.AllocateAligned(bytes));
      std::memset(state.counts, 0, bytes);
    }
    return state.counts;
  }

  template <typename StateOf>
  static void Rows(Vector inputs[], AggregateInputData& data, idx_t count, StateOf state) {
    const HistogramBins bins = BinsOf(data);
    UnifiedVectorFormat values;
    inputs[0].ToUnifiedFormat(count, values);
    const double* value = UnifiedVectorFormat::GetDataUnsafe<double>(values);
    for (idx_t row = 0; row < count; ++row) {
      const idx_t index = values.sel->get_index(row);
      if (values.validity.RowIsValid(index)) ++Counts(state(row), data)[bins.BinOf(value[index])];
    }
  }

  static void Merge(const State& source, State& target, AggregateInputData& data) {
    if (!source.counts) return;
    int64_t* counts = Counts(target, data);
    for (int64_t i = 0; i < BinsOf(data).n + 2; ++i) counts[i] += source.counts[i];
  }

  static void Result(State& state, AggregateInputData& data, Vector& result, idx_t row) {
    if (!state.counts) return FlatVector::SetNull(result, row, true);
    const auto count = static_cast<idx_t>(BinsOf(data).n + 2);
    const idx_t offset = ListVector::GetListSize(result);
    ListVector::Reserve(result, offset + count);
    std::memcpy(FlatVector::GetData<int64_t>(ListVector::GetEntry(result)) + offset, state.counts,
                count * sizeof(int64_t));
    ListVector::SetListSize(result, offset + count);
    FlatVector::GetData<duckdb::list_entry_t>(result)[row] = {offset, count};
  }
};

duckdb::unique_ptr<duckdb::FunctionData> Bind(
    duckdb::ClientContext& context, duckdb::AggregateFunction&,
    duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& arguments) {
  const std::string range = "a finite number, and min less than max";
  const std::string number = "a number of bins from 1 to 10000";
  const auto real = [&](const char* name, size_t i) {
    return duckdb::DoubleValue::Get(
        ConstantArgument(context, "histogram", name, range, *arguments[i], LogicalType::DOUBLE));
  };
  HistogramBins bins;
  bins.min = real("min", 1);
  bins.max = real("max", 2);
  bins.n = duckdb::BigIntValue::Get(
      ConstantArgument(context, "histogram", "n", number, *arguments[3], LogicalType::BIGINT));
  if (!(bins.min < bins.max) || !std::isfinite(bins.max - bins.min)) {
    Throw(InvalidArgument("histogram: min is {} and max is {}; each must be {}", bins.min, bins.max,
                          range));
  }
  if (bins.n < 1 || bins.n > kMaxBins) {
    Throw(InvalidArgument("histogram: n is {}; it must be {}", bins.n, number));
  }
  return duckdb::make_uniq<BinsData>(bins);
}

}  // namespace

void RegisterHistogram(duckdb::DatabaseInstance& database, duckdb::ExtensionLoader&) {
  const LogicalType real = LogicalType::DOUBLE;
  duckdb::AggregateFunctionSet set("histogram");
  set.AddFunction(AggregateOf<HistogramOp>::Make(set.name, {real, real, real, LogicalType::BIGINT},
                                                 LogicalType::LIST(LogicalType::BIGINT), Bind));
  ExtendAggregate(database, std::move(set), {"value", "min", "max", "n"},
                  "Counts below min, in n bins of equal width, and from max on");
}

}  // namespace timelake::sql

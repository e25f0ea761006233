// The scalar functions of gap filling: three that users write, which only mark places in the plan,
// and three that the rewritten plan calls.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <duckdb/common/types/interval.hpp>
#include <duckdb/common/types/timestamp.hpp>
#include <duckdb/execution/expression_executor_state.hpp>
#include <duckdb/function/function_set.hpp>
#include <duckdb/main/extension/extension_loader.hpp>
#include <duckdb/planner/expression/bound_function_expression.hpp>

#include "base/civil_time.h"
#include "sql/error.h"
#include "sql/functions/gap_series.h"
#include "sql/functions/gapfill_names.h"
#include "sql/functions/grid_maker.h"
#include "sql/functions/register.h"

namespace timelake::sql {

namespace {

using duckdb::DataChunk;
using duckdb::ExpressionState;
using duckdb::FlatVector;
using duckdb::idx_t;
using duckdb::ListVector;
using duckdb::LogicalType;
using duckdb::LogicalTypeId;
using duckdb::UnifiedVectorFormat;
using duckdb::Vector;

void GapfillOutOfPlace(DataChunk&, ExpressionState&, Vector&) { Throw(GapfillPlaceError()); }

void FillOutOfPlace(DataChunk&, ExpressionState& state, Vector&) {
  Throw(FillPlaceError(state.expr.Cast<duckdb::BoundFunctionExpression>().function.name));
}

duckdb::unique_ptr<duckdb::FunctionData> BindGapfill(
    duckdb::ClientContext&, duckdb::ScalarFunction& function,
    duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& arguments) {
  const bool zoned = function.arguments.size() % 2 == 1;
  if (zoned && arguments[1]->return_type.id() == LogicalTypeId::TIMESTAMP) {
    Throw(InvalidArgument("{}: a time zone goes only with times of type TIMESTAMP WITH TIME ZONE",
                          kGapfill));
  }
  return nullptr;
}

duckdb::unique_ptr<duckdb::FunctionData> BindSameType(
    duckdb::ClientContext&, duckdb::ScalarFunction& function,
    duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& arguments) {
  function.original_arguments = function.arguments;
  function.arguments[0] = arguments[0]->return_type;
  function.SetReturnType(arguments[0]->return_type);
  return nullptr;
}

// --- the rewritten plan's functions ---

// Columns of both functions, after `band` in the second one. See gapfill_plan.cc.
enum Column : idx_t {
  kBucket,    // of the row; the plan gives the finite ones again as
  kFinite,    //   these, whose neighbours are
  kPrevious,  //
  kNext,      //
  kStandsIn,  // BOOLEAN: the row that stands for a result without rows
  kWidth,     //
  kZone,      //
  kStart,     // given bounds, and those from WHERE: >=, >, <=, <
  kFinish,    //
  kFrom,      //
  kAfter,     //
  kUpTo,      //
  kBefore,
  kColumns
};

struct GapState : public duckdb::FunctionLocalState {
  explicit GapState(duckdb::ClientContext& context) : maker(context, kGapfill) {}
  GridMaker maker;
};

duckdb::unique_ptr<duckdb::FunctionLocalState> InitGapState(ExpressionState& state,
                                                            const duckdb::BoundFunctionExpression&,
                                                            duckdb::FunctionData*) {
  return duckdb::make_uniq<GapState>(state.GetContext());
}

// The arguments of a chunk, row by row.
class GapArguments {
 public:
  GapArguments(DataChunk& args, idx_t skip, idx_t count) {
    for (idx_t i = 0; i < kColumns; ++i) {
      args.data[i + skip].ToUnifiedFormat(count, columns_[i]);
      if (i == kWidth) text_width_ = args.data[i + skip].GetType().id() == LogicalTypeId::VARCHAR;
      if (i >= kWidth) {
        constant_ &= args.data[i + skip].GetVectorType() == duckdb::VectorType::CONSTANT_VECTOR;
      }
    }
  }

  template <typename T>
  std::optional<T> Get(Column column, idx_t row) const {
    const auto& values = columns_[column];
    const idx_t index = values.sel->get_index(row);
    if (!values.validity.RowIsValid(index)) return std::nullopt;
    return UnifiedVectorFormat::GetDataUnsafe<T>(values)[index];
  }

  std::optional<int64_t> Time(Column column, idx_t row) const { return Get<int64_t>(column, row); }
  std::optional<int64_t> FiniteTime(Column column, idx_t row) const {
    const auto time = Get<duckdb::timestamp_t>(column, row);
    if (!time || !duckdb::Timestamp::IsFinite(*time)) return std::nullopt;
    return time->value;
  }

  // The grid and range of a row; no grid if the width is NULL.
  void Prepare(idx_t row, GridMaker* maker) {
    if (row > 0 && constant_) return;
    grid_ = nullptr;
    GridArguments arguments;
    Status set;
    if (text_width_) {
      const auto width = Get<duckdb::string_t>(kWidth, row);
      if (!width) return;
      set = ParseBucketWidth(width->GetString()).Value(&arguments.width);
    } else {
      const auto width = Get<duckdb::interval_t>(kWidth, row);
      if (!width) return;
      set = arguments.SetWidth(*width);
    }
    if (!set.ok()) maker->Fail(set);
    if (const auto zone = Get<duckdb::string_t>(kZone, row)) arguments.zone = zone->GetString();
    grid_ = maker->Get(arguments);
    range_ = MakeGapRange(grid_, From(row), To(row));
  }

  GapRow Row(idx_t row) const {
    GapRow result;
    if (!Get<bool>(kStandsIn, row).value_or(false)) result.bucket = Time(kFinite, row);
    result.previous = Time(kPrevious, row);
    result.next = Time(kNext, row);
    return result;
  }

  BucketGrid* grid() const { return grid_; }
  const GapRange& range() const { return range_; }

 private:
  // Bounds as instants that are included; infinite ones are none.
  std::optional<int64_t> From(idx_t row) const {
    if (const auto start = FiniteTime(kStart, row)) return start;
    auto from = FiniteTime(kFrom, row);
    if (const auto after = FiniteTime(kAfter, row)) {
      from = std::max(from.value_or(*after + 1), *after + 1);
    }
    return from;
  }
  std::optional<int64_t> To(idx_t row) const {
    if (const auto finish = FiniteTime(kFinish, row)) return *finish - 1;
    auto to = FiniteTime(kUpTo, row);
    if (const auto before = FiniteTime(kBefore, row)) {
      to = std::min(to.value_or(*before - 1), *before - 1);
    }
    return to;
  }

  UnifiedVectorFormat columns_[kColumns];
  bool text_width_ = false;
  bool constant_ = true;
  BucketGrid* grid_ = nullptr;
  GapRange range_;
};

// A row's list: `own`, if it has a value of its own (which may be NULL), then `gaps`.
void AppendList(bool has_own, const std::optional<int64_t>& own, const std::vector<int64_t>& gaps,
                Vector& result, idx_t row) {
  const idx_t offset = ListVector::GetListSize(result), count = gaps.size() + (has_own ? 1 : 0);
  ListVector::Reserve(result, offset + count);
  auto& entries = ListVector::GetEntry(result);
  auto* times = FlatVector::GetData<int64_t>(entries);
  idx_t at = offset;
  if (has_own) {
    times[at] = own.value_or(0);
    if (!own) FlatVector::SetNull(entries, at, true);
    ++at;
  }
  std::copy(gaps.begin(), gaps.end(), times + at);
  ListVector::SetListSize(result, offset + count);
  FlatVector::GetData<duckdb::list_entry_t>(result)[row] = {offset, count};
}

void GapBands(DataChunk& args, ExpressionState& state, Vector& result) {
  auto& maker = duckdb::ExecuteFunctionState::GetFunctionState(state)->Cast<GapState>().maker;
  GapArguments arguments(args, 0, args.size());
  std::vector<int64_t> bands;
  result.SetVectorType(duckdb::VectorType::FLAT_VECTOR);
  for (idx_t row = 0; row < args.size(); ++row) {
    arguments.Prepare(row, &maker);
    const GapRow gap = arguments.Row(row);
    const bool stands_in = arguments.Get<bool>(kStandsIn, row).value_or(false);
    bands.clear();
    if (arguments.grid() && (gap.bucket || stands_in) &&
        !AppendGapBands(arguments.grid(), arguments.range(), gap, &bands)) {
      maker.Fail(InvalidArgument(
          "more than {} empty buckets next to {}: take wider buckets or a shorter range", kMaxGap,
          gap.bucket ? FormatTimestamp(*gap.bucket) : "an empty result"));
    }
    AppendList(!stands_in, arguments.Time(kBucket, row), bands, result, row);
  }
}

void GapBuckets(DataChunk& args, ExpressionState& state, Vector& result) {
  auto& maker = duckdb::ExecuteFunctionState::GetFunctionState(state)->Cast<GapState>().maker;
  GapArguments arguments(args, 1, args.size());
  UnifiedVectorFormat bands;
  args.data[0].ToUnifiedFormat(args.size(), bands);
  std::vector<int64_t> buckets;
  result.SetVectorType(duckdb::VectorType::FLAT_VECTOR);
  for (idx_t row = 0; row < args.size(); ++row) {
    const idx_t index = bands.sel->get_index(row);
    std::optional<int64_t> band;
    if (bands.validity.RowIsValid(index)) {
      band = UnifiedVectorFormat::GetDataUnsafe<int64_t>(bands)[index];
    }
    arguments.Prepare(row, &maker);
    const GapRow gap = arguments.Row(row);
    const bool own = !arguments.Get<bool>(kStandsIn, row).value_or(false) &&
                     band == arguments.Time(kBucket, row);
    buckets.clear();
    if (!own && band && arguments.grid()) {
      AppendGapBuckets(arguments.grid(), arguments.range(), gap, *band, &buckets);
    }
    AppendList(own, band, buckets, result, row);
  }
}

// interpolate_at(value, time, value before, its time, value after, its time)
void InterpolateAt(DataChunk& args, ExpressionState&, Vector& result) {
  UnifiedVectorFormat columns[6];
  for (idx_t i = 0; i < 6; ++i) args.data[i].ToUnifiedFormat(args.size(), columns[i]);
  const auto valid = [&](int i, idx_t row) {
    return columns[i].validity.RowIsValid(columns[i].sel->get_index(row));
  };
  const auto real = [&](int i, idx_t row) {
    return UnifiedVectorFormat::GetDataUnsafe<double>(columns[i])[columns[i].sel->get_index(row)];
  };
  const auto time = [&](int i, idx_t row) {
    return UnifiedVectorFormat::GetDataUnsafe<duckdb::timestamp_t>(
        columns[i])[columns[i].sel->get_index(row)];
  };
  result.SetVectorType(duckdb::VectorType::FLAT_VECTOR);
  auto* output = FlatVector::GetData<double>(result);
  for (idx_t row = 0; row < args.size(); ++row) {
    if (valid(0, row)) {
      output[row] = real(0, row);
      continue;
    }
    bool known = true;
    for (int i = 1; i < 6; ++i) known &= valid(i, row);
    if (!known || !duckdb::Timestamp::IsFinite(time(1, row))) {
      FlatVector::SetNull(result, row, true);
      continue;
    }
    const auto micros = [](duckdb::timestamp_t from, duckdb::timestamp_t to) {
      return static_cast<double>(static_cast<uint64_t>(to.value) -
                                 static_cast<uint64_t>(from.value));
    };
    const double done = micros(time(3, row), time(1, row));
    const double all = micros(time(3, row), time(5, row));
    const double before = real(2, row), after = real(4, row);
    const double straight = before + (after - before) * done / all;
    // Far apart near the end of the range of double.
    output[row] =
        std::isfinite(straight) ? straight : before * (1 - done / all) + after * (done / all);
  }
}

duckdb::ScalarFunction Internal(const char* name, duckdb::vector<LogicalType> arguments,
                                LogicalType result, duckdb::scalar_function_t execute,
                                duckdb::init_local_state_t init) {
  duckdb::ScalarFunction function(name, std::move(arguments), std::move(result),
                                  std::move(execute));
  function.SetInitStateCallback(init);
  function.SetNullHandling(duckdb::FunctionNullHandling::SPECIAL_HANDLING);
  function.SetFallible();
  return function;
}

}  // namespace

Status GapfillPlaceError() {
  return InvalidArgument(
      "{0}: it has to be one of the GROUP BY expressions itself, as in SELECT {0}('1h', time) AS "
      "t, avg(v) ... GROUP BY t (and needs DuckDB's optimizer switched on)",
      kGapfill);
}

Status FillPlaceError(const std::string& function) {
  return InvalidArgument(
      "{0}: it fills gaps in the SELECT list of the query that groups by {1}, as in SELECT "
      "{1}('1h', time) AS t, {0}(avg(v)) ... GROUP BY t; not in HAVING, not in another {2} or {3}",
      function, kGapfill, kLocf, kInterpolate);
}

void RegisterGapfillFunctions(duckdb::ExtensionLoader& loader) {
  const LogicalType text = LogicalType::VARCHAR, flag = LogicalType::BOOLEAN;
  duckdb::ScalarFunctionSet gapfill(kGapfill), bands(kGapBands), buckets(kGapBuckets),
      interpolate_at(kInterpolateAt);
  const auto add = [&](duckdb::vector<LogicalType> arguments) {
    const LogicalType time = arguments[1];
    auto function = Internal(kGapfill, std::move(arguments), time, GapfillOutOfPlace, nullptr);
    function.SetBindCallback(BindGapfill);
    gapfill.AddFunction(std::move(function));
  };
  for (const LogicalType& time :
       {LogicalType(LogicalType::TIMESTAMP), LogicalType(LogicalType::TIMESTAMP_TZ)}) {
    const LogicalType list = LogicalType::LIST(time), real = LogicalType::DOUBLE;
    for (const LogicalType& width : {LogicalType(LogicalType::INTERVAL), text}) {
      add({width, time});
      add({width, time, time, time});
      if (time.id() == LogicalTypeId::TIMESTAMP_TZ) {
        add({width, time, text});
        add({width, time, text, time, time});
      }
      duckdb::vector<LogicalType> columns = {time, time, time, time, flag, width, text,
                                             time, time, time, time, time, time};
      bands.AddFunction(Internal(kGapBands, columns, list, GapBands, InitGapState));
      columns.insert(columns.begin(), time);
      buckets.AddFunction(Internal(kGapBuckets, columns, list, GapBuckets, InitGapState));
    }
    interpolate_at.AddFunction(Internal(kInterpolateAt, {real, time, real, time, real, time}, real,
                                        InterpolateAt, nullptr));
  }
  for (auto* set : {&gapfill, &bands, &buckets, &interpolate_at}) {
    loader.RegisterFunction(std::move(*set));
  }
  auto locf = Internal(kLocf, {LogicalType::ANY}, LogicalType::ANY, FillOutOfPlace, nullptr);
  locf.SetBindCallback(BindSameType);
  loader.RegisterFunction(std::move(locf));
  loader.RegisterFunction(
      Internal(kInterpolate, {LogicalType::DOUBLE}, LogicalType::DOUBLE, FillOutOfPlace, nullptr));
}

}  // namespace timelake::sql

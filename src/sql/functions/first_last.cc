// first(value, time) and last(value, time), also under the names first_by and last_by: DuckDB's
// parser takes `first(..) OVER (..)` for its own window function of one argument.

#include <string>
#include <utility>

#include <duckdb/common/operator/comparison_operators.hpp>
#include <duckdb/function/create_sort_key.hpp>
#include <duckdb/function/function_set.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/main/extension/extension_loader.hpp>
#include <duckdb/planner/expression.hpp>

#include "sql/functions/aggregate.h"
#include "sql/functions/extend_aggregate.h"
#include "sql/functions/register.h"

namespace timelake::sql {

namespace {

using duckdb::AggregateInputData;
using duckdb::FlatVector;
using duckdb::idx_t;
using duckdb::LogicalType;
using duckdb::UnifiedVectorFormat;
using duckdb::Vector;

// Of rows with the same time the one with the smallest value is first, with the greatest last, so
// that the answer does not depend on the order of rows.
template <bool kLast, typename T>
bool Beats(const T& a, const T& b) {
  return kLast ? duckdb::GreaterThan::Operation(a, b) : duckdb::LessThan::Operation(a, b);
}

// Values of a fixed size.
template <typename T, bool kLast>
struct FixedValue {
  struct State {
    int64_t time;
    T value;
    bool set;
  };

  static void Initialize(State& state) { state.set = false; }

  static void Add(State& state, int64_t time, const T& value) {
    if (state.set && !Beats<kLast>(time, state.time) &&
        (time != state.time || !Beats<kLast>(value, state.value))) {
      return;
    }
    state = State{time, value, true};
  }

  template <typename StateOf>
  static void Rows(Vector inputs[], AggregateInputData&, idx_t count, StateOf state) {
    UnifiedVectorFormat values, times;
    inputs[0].ToUnifiedFormat(count, values);
    inputs[1].ToUnifiedFormat(count, times);
    const T* value = UnifiedVectorFormat::GetDataUnsafe<T>(values);
    const int64_t* time = UnifiedVectorFormat::GetDataUnsafe<int64_t>(times);
    for (idx_t row = 0; row < count; ++row) {
      const idx_t v = values.sel->get_index(row), t = times.sel->get_index(row);
      if (values.validity.RowIsValid(v) && times.validity.RowIsValid(t)) {
        Add(state(row), time[t], value[v]);
      }
    }
  }

  static void Merge(const State& source, State& target, AggregateInputData&) {
    if (source.set) Add(target, source.time, source.value);
  }

  static void Result(State& state, AggregateInputData&, Vector& result, idx_t row) {
    if (!state.set) return FlatVector::SetNull(result, row, true);
    reinterpret_cast<T*>(FlatVector::GetData(result))[row] = state.value;
  }
};

// Values of any other type (text, lists, structs, intervals) as DuckDB's sort keys, which compare
// as bytes and can be turned back. Keys are made only for rows that may win.
template <bool kLast>
struct AnyValue {
  struct State {
    int64_t time;
    ArenaBytes key;
    bool set;      // `time` is valid
    bool has_key;  // not between the two steps of Rows
  };

  static duckdb::OrderModifiers Modifiers() {
    return {duckdb::OrderType::ASCENDING, duckdb::OrderByNullType::NULLS_LAST};
  }

  static void Initialize(State& state) { state = State{}; }

  static void AddKey(State& state, const char* key, uint32_t size, duckdb::ArenaAllocator& arena) {
    if (state.has_key) {
      const auto shared = size < state.key.size ? size : state.key.size;
      int order = std::memcmp(key, state.key.data, shared);
      if (order == 0) order = size < state.key.size ? -1 : size > state.key.size;
      if (kLast ? order <= 0 : order >= 0) return;
    }
    state.key.Assign(key, size, arena);
    state.has_key = true;
  }

  template <typename StateOf>
  static void Rows(Vector inputs[], AggregateInputData& data, idx_t count, StateOf state) {
    UnifiedVectorFormat values, times;
    inputs[0].ToUnifiedFormat(count, values);
    inputs[1].ToUnifiedFormat(count, times);
    const int64_t* time = UnifiedVectorFormat::GetDataUnsafe<int64_t>(times);
    const auto time_of = [&](idx_t row) { return time[times.sel->get_index(row)]; };
    duckdb::SelectionVector candidates(count);
    idx_t found = 0;
    for (idx_t row = 0; row < count; ++row) {
      if (!values.validity.RowIsValid(values.sel->get_index(row)) ||
          !times.validity.RowIsValid(times.sel->get_index(row))) {
        continue;
      }
      State& s = state(row);
      const int64_t now = time_of(row);
      if (s.set && now != s.time && !Beats<kLast>(now, s.time)) continue;
      if (!s.set || now != s.time) s.has_key = false;
      s.time = now;
      s.set = true;
      candidates.set_index(found++, row);
    }
    idx_t winners = 0;
    for (idx_t i = 0; i < found; ++i) {
      const idx_t row = candidates.get_index(i);
      if (time_of(row) == state(row).time) candidates.set_index(winners++, row);
    }
    if (winners == 0) return;
    Vector chosen(inputs[0], candidates, winners);
    chosen.Flatten(winners);
    Vector keys(LogicalType::BLOB, winners);
    duckdb::CreateSortKeyHelpers::CreateSortKey(chosen, winners, Modifiers(), keys);
    keys.Flatten(winners);
    const auto* key = FlatVector::GetData<duckdb::string_t>(keys);
    for (idx_t i = 0; i < winners; ++i) {
      AddKey(state(candidates.get_index(i)), key[i].GetData(),
             static_cast<uint32_t>(key[i].GetSize()), data.allocator);
    }
  }

  static void Merge(const State& source, State& target, AggregateInputData& data) {
    if (!source.set) return;
    if (target.set && source.time != target.time && !Beats<kLast>(source.time, target.time)) {
      return;
    }
    if (!target.set || source.time != target.time) target.has_key = false;
    target.time = source.time;
    target.set = true;
    AddKey(target, source.key.data, source.key.size, data.allocator);
  }

  static void Result(State& state, AggregateInputData&, Vector& result, idx_t row) {
    if (!state.set) return FlatVector::SetNull(result, row, true);
    duckdb::CreateSortKeyHelpers::DecodeSortKey(duckdb::string_t(state.key.data, state.key.size),
                                                result, row, Modifiers());
  }
};

template <typename Op>
void Use(duckdb::AggregateFunction* function) {
  const auto made = AggregateOf<Op>::Make(function->name, {}, LogicalType::ANY);
  function->SetStateSizeCallback(made.GetStateSizeCallback());
  function->SetStateInitCallback(made.GetStateInitCallback());
  function->SetStateUpdateCallback(made.GetStateUpdateCallback());
  function->SetStateSimpleUpdateCallback(made.GetStateSimpleUpdateCallback());
  function->SetStateCombineCallback(made.GetStateCombineCallback());
  function->SetStateFinalizeCallback(made.GetStateFinalizeCallback());
}

template <bool kLast>
duckdb::unique_ptr<duckdb::FunctionData> Bind(
    duckdb::ClientContext&, duckdb::AggregateFunction& function,
    duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& arguments) {
  const LogicalType type = arguments[0]->return_type;
  function.original_arguments = function.arguments;
  function.arguments[0] = type;
  if (function.arguments[1].id() == duckdb::LogicalTypeId::DATE) {
    function.arguments[1] = LogicalType::TIMESTAMP;  // the state holds 64 bits
  }
  function.SetReturnType(type);
  switch (type.InternalType()) {
    case duckdb::PhysicalType::BOOL:
    case duckdb::PhysicalType::INT8: Use<FixedValue<int8_t, kLast>>(&function); break;
    case duckdb::PhysicalType::UINT8: Use<FixedValue<uint8_t, kLast>>(&function); break;
    case duckdb::PhysicalType::INT16: Use<FixedValue<int16_t, kLast>>(&function); break;
    case duckdb::PhysicalType::UINT16: Use<FixedValue<uint16_t, kLast>>(&function); break;
    case duckdb::PhysicalType::INT32: Use<FixedValue<int32_t, kLast>>(&function); break;
    case duckdb::PhysicalType::UINT32: Use<FixedValue<uint32_t, kLast>>(&function); break;
    case duckdb::PhysicalType::INT64: Use<FixedValue<int64_t, kLast>>(&function); break;
    case duckdb::PhysicalType::UINT64: Use<FixedValue<uint64_t, kLast>>(&function); break;
    case duckdb::PhysicalType::FLOAT: Use<FixedValue<float, kLast>>(&function); break;
    case duckdb::PhysicalType::DOUBLE: Use<FixedValue<double, kLast>>(&function); break;
    case duckdb::PhysicalType::INT128: Use<FixedValue<duckdb::hugeint_t, kLast>>(&function); break;
    default: Use<AnyValue<kLast>>(&function); break;
  }
  return nullptr;
}

template <bool kLast>
void AddOverloads(duckdb::AggregateFunctionSet* set) {
  for (const LogicalType& time :
       {LogicalType(LogicalType::TIMESTAMP), LogicalType(LogicalType::TIMESTAMP_TZ),
        LogicalType(LogicalType::DATE), LogicalType(LogicalType::TIMESTAMP_NS),
        LogicalType(LogicalType::BIGINT)}) {
    auto function = AggregateOf<AnyValue<kLast>>::Make(set->name, {LogicalType::ANY, time},
                                                       LogicalType::ANY, Bind<kLast>);
    function.SetDistinctDependent(duckdb::AggregateDistinctDependent::NOT_DISTINCT_DEPENDENT);
    set->AddFunction(std::move(function));
  }
}

template <bool kLast>
void Add(duckdb::DatabaseInstance& database, const char* name) {
  duckdb::AggregateFunctionSet set(name);
  AddOverloads<kLast>(&set);
  ExtendAggregate(database, std::move(set), {"value", "time"},
                  kLast ? "The value of the latest row that has a value and a time"
                        : "The value of the earliest row that has a value and a time");
}

}  // namespace

void RegisterFirstLast(duckdb::DatabaseInstance& database, duckdb::ExtensionLoader&) {
  Add<false>(database, "first");
  Add<true>(database, "last");
  Add<false>(database, "first_by");
  Add<true>(database, "last_by");
}

}  // namespace timelake::sql

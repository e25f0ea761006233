#pragma once

#include <cstring>
#include <string>
#include <type_traits>

#include <duckdb/common/types/vector.hpp>
#include <duckdb/function/aggregate_function.hpp>
#include <duckdb/storage/arena_allocator.hpp>

// Aggregates for DuckDB from an `Op` with
//   struct State;                        // trivially copyable; memory comes from the arena
//   static void Initialize(State&);
//   static void Rows(Vector inputs[], AggregateInputData&, idx_t count, StateOf state);
//                                        // state(i) is the State& of row i
//   static void Merge(const State& source, State& target, AggregateInputData&);
//                                        // must leave `source` as it is: windows use it again
//   static void Result(State&, AggregateInputData&, Vector& result, idx_t row);
// None of them may depend on the order of rows or merges: DuckDB's threads decide on that.

namespace timelake::sql {

template <typename Op>
struct AggregateOf {
  using State = typename Op::State;
  using Vector = duckdb::Vector;
  using Input = duckdb::AggregateInputData;
  using idx_t = duckdb::idx_t;

  static idx_t Size(const duckdb::AggregateFunction&) { return sizeof(State); }

  static void Initialize(const duckdb::AggregateFunction&, duckdb::data_ptr_t state) {
    static_assert(std::is_trivially_copyable_v<State>);
    Op::Initialize(*new (state) State());
  }

  static void Update(Vector inputs[], Input& data, idx_t, Vector& states, idx_t count) {
    duckdb::UnifiedVectorFormat format;
    states.ToUnifiedFormat(count, format);
    const auto* pointers = duckdb::UnifiedVectorFormat::GetDataUnsafe<State*>(format);
    Op::Rows(inputs, data, count,
             [&](idx_t row) -> State& { return *pointers[format.sel->get_index(row)]; });
  }

  static void SimpleUpdate(Vector inputs[], Input& data, idx_t, duckdb::data_ptr_t state,
                           idx_t count) {
    auto& only = *reinterpret_cast<State*>(state);
    Op::Rows(inputs, data, count, [&](idx_t) -> State& { return only; });
  }

  static void Combine(Vector& sources, Vector& targets, Input& data, idx_t count) {
    duckdb::UnifiedVectorFormat format;
    sources.ToUnifiedFormat(count, format);
    const auto* pointers = duckdb::UnifiedVectorFormat::GetDataUnsafe<State*>(format);
    auto** merged = duckdb::FlatVector::GetData<State*>(targets);
    for (idx_t i = 0; i < count; ++i) {
      Op::Merge(*pointers[format.sel->get_index(i)], *merged[i], data);
    }
  }

  static void Finalize(Vector& states, Input& data, Vector& result, idx_t count, idx_t offset) {
    duckdb::UnifiedVectorFormat format;
    states.ToUnifiedFormat(count, format);
    const auto* pointers = duckdb::UnifiedVectorFormat::GetDataUnsafe<State*>(format);
    for (idx_t i = 0; i < count; ++i) {
      Op::Result(*pointers[format.sel->get_index(i)], data, result, i + offset);
    }
  }

  static duckdb::AggregateFunction Make(const std::string& name,
                                        const duckdb::vector<duckdb::LogicalType>& arguments,
                                        const duckdb::LogicalType& result,
                                        duckdb::bind_aggregate_function_t bind = nullptr) {
    duckdb::AggregateFunction function(name, arguments, result, Size, Initialize, Update, Combine,
                                       Finalize, SimpleUpdate, bind);
    function.SetOrderDependent(duckdb::AggregateOrderDependent::NOT_ORDER_DEPENDENT);
    return function;
  }
};

// Bytes in an arena, kept in place while they fit.
struct ArenaBytes {
  char* data;
  uint32_t size;
  uint32_t capacity;

  void Assign(const char* bytes, uint32_t count, duckdb::ArenaAllocator& arena) {
    if (count > capacity) {
      capacity = count > capacity * 2 ? count : capacity * 2;
      data = reinterpret_cast<char*>(arena.AllocateAligned(capacity));
    }
    std::memcpy(data, bytes, count);
    size = count;
  }
};

}  // namespace timelake::sql

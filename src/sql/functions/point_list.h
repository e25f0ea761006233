#pragma once

#include <algorithm>
#include <vector>

#include <duckdb/common/types/timestamp.hpp>
#include <duckdb/storage/arena_allocator.hpp>

#include "sql/functions/aggregate.h"
#include "sql/functions/points.h"

namespace timelake::sql {

// The readings of a group in an arena, 16 bytes each, in blocks that grow with their number. All
// are kept: rows come in any order, so nothing can be added up before the end.
template <typename V>
struct PointList {
  struct Block {
    Block* next;
    uint64_t count;
    uint64_t capacity;
    Point<V>* points() { return reinterpret_cast<Point<V>*>(this + 1); }
    const Point<V>* points() const { return reinterpret_cast<const Point<V>*>(this + 1); }
  };

  Block* first;
  Block* last;
  uint64_t count;

  void Add(const Point<V>& point, duckdb::ArenaAllocator& arena) {
    if (!last || last->count == last->capacity) Grow(arena);
    last->points()[last->count++] = point;
    ++count;
  }

  void Merge(const PointList& source, duckdb::AggregateInputData& data) {
    if (source.count == 0) return;
    if (data.combine_type == duckdb::AggregateCombineType::ALLOW_DESTRUCTIVE) {
      // The source's memory stays until the end of the aggregation (as for DuckDB's list()).
      (last ? last->next : first) = source.first;
      last = source.last;
      count += source.count;
      return;
    }
    for (const Block* block = source.first; block; block = block->next) {
      for (uint64_t i = 0; i < block->count; ++i) Add(block->points()[i], data.allocator);
    }
  }

  std::vector<Point<V>> Get() const {
    std::vector<Point<V>> points;
    points.reserve(count);
    for (const Block* block = first; block; block = block->next) {
      points.insert(points.end(), block->points(), block->points() + block->count);
    }
    return points;
  }

 private:
  void Grow(duckdb::ArenaAllocator& arena) {
    const uint64_t capacity = std::clamp<uint64_t>(count, 4, 4096);
    auto* block = reinterpret_cast<Block*>(
        arena.AllocateAligned(sizeof(Block) + capacity * sizeof(Point<V>)));
    *block = Block{nullptr, 0, capacity};
    (last ? last->next : first) = block;
    last = block;
  }
};

// Calls add(row, point) for the rows with a time and a value: not where one is NULL, nor where the
// time is infinite, nor, if `skip_nan`, where the value is NaN.
template <typename V, typename Add>
void ForEachPoint(duckdb::Vector inputs[], duckdb::idx_t count, bool skip_nan, const Add& add) {
  duckdb::UnifiedVectorFormat times, values;
  inputs[0].ToUnifiedFormat(count, times);
  inputs[1].ToUnifiedFormat(count, values);
  const auto* time = duckdb::UnifiedVectorFormat::GetDataUnsafe<duckdb::timestamp_t>(times);
  const V* value = duckdb::UnifiedVectorFormat::GetDataUnsafe<V>(values);
  for (duckdb::idx_t row = 0; row < count; ++row) {
    const auto t = times.sel->get_index(row), v = values.sel->get_index(row);
    if (!times.validity.RowIsValid(t) || !values.validity.RowIsValid(v)) continue;
    if (!duckdb::Timestamp::IsFinite(time[t])) continue;
    if constexpr (std::is_floating_point_v<V>) {
      if (skip_nan && std::isnan(value[v])) continue;
    }
    add(row, Point<V>{time[t].value, value[v]});
  }
}

}  // namespace timelake::sql

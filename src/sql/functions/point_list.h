#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include <duckdb/common/types/column/column_data_collection.hpp>
#include <duckdb/common/types/timestamp.hpp>
#include <duckdb/common/types/validity_mask.hpp>
#include <duckdb/storage/arena_allocator.hpp>

#include "sql/functions/aggregate.h"
#include "sql/functions/points.h"

namespace timelake::sql {

// What a group has, in an arena, in blocks that grow with its number. All is kept: rows come in any
// order, so nothing can be added up before the end.
template <typename T>
struct ArenaList {
  struct Block {
    Block* next;
    uint64_t count;
    uint64_t capacity;
    T* items() { return reinterpret_cast<T*>(this + 1); }
    const T* items() const { return reinterpret_cast<const T*>(this + 1); }
  };

  Block* first;
  Block* last;
  uint64_t count;

  void Add(const T& item, duckdb::ArenaAllocator& arena) {
    if (!last || last->count == last->capacity) Grow(arena);
    last->items()[last->count++] = item;
    ++count;
  }

  void Merge(const ArenaList& source, duckdb::AggregateInputData& data) {
    if (source.count == 0) return;
    if (data.combine_type == duckdb::AggregateCombineType::ALLOW_DESTRUCTIVE) {
      // The source's memory stays until the end of the aggregation (as for DuckDB's list()).
      (last ? last->next : first) = source.first;
      last = source.last;
      count += source.count;
      return;
    }
    for (const Block* block = source.first; block; block = block->next) {
      for (uint64_t i = 0; i < block->count; ++i) Add(block->items()[i], data.allocator);
    }
  }

  std::vector<T> Get() const {
    std::vector<T> items;
    items.reserve(count);
    for (const Block* block = first; block; block = block->next) {
      items.insert(items.end(), block->items(), block->items() + block->count);
    }
    return items;
  }

 private:
  void Grow(duckdb::ArenaAllocator& arena) {
    const uint64_t capacity = std::clamp<uint64_t>(count, 4, 4096);
    auto* block =
        reinterpret_cast<Block*>(arena.AllocateAligned(sizeof(Block) + capacity * sizeof(T)));
    *block = Block{nullptr, 0, capacity};
    (last ? last->next : first) = block;
    last = block;
  }
};

// Readings, 16 bytes each.
template <typename V>
using PointList = ArenaList<Point<V>>;

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

// The readings that a window reads, once for all of its frames: copying those of every frame, as
// DuckDB's general way does, costs a hundred times as much. They may be of several partitions, one
// after the other; a frame is within one.
template <typename V>
struct WindowPoints {
  Point<V>* points;
  uint64_t* before;  // of row i: how many points are before it; one more entry than rows
  uint64_t* breaks;  // of point i: how many points up to it are not in order with the one before

  // In order: by (time, value), or if `one_per_time` by time without repeats.
  static const WindowPoints* Make(duckdb::AggregateInputData& data,
                                  const duckdb::WindowPartitionInput& input, bool skip_nan,
                                  bool one_per_time) {
    const auto bytes = [&](uint64_t size) { return data.allocator.AllocateAligned(size); };
    auto* made = reinterpret_cast<WindowPoints*>(bytes(sizeof(WindowPoints)));
    made->points = reinterpret_cast<Point<V>*>(bytes((input.count + 1) * sizeof(Point<V>)));
    made->before = reinterpret_cast<uint64_t*>(bytes((input.count + 1) * sizeof(uint64_t)));
    made->breaks = reinterpret_cast<uint64_t*>(bytes((input.count + 1) * sizeof(uint64_t)));
    uint64_t count = 0, row = 0;
    duckdb::ColumnDataScanState scan;
    input.inputs->InitializeScan(scan, input.column_ids);
    duckdb::DataChunk chunk;
    input.inputs->InitializeScanChunk(scan, chunk);
    while (input.inputs->Scan(scan, chunk)) {
      uint64_t next = row;
      ForEachPoint<V>(chunk.data.data(), chunk.size(), skip_nan,
                      [&](duckdb::idx_t i, const Point<V>& point) {
                        if (!input.filter_mask.RowIsValid(row + i)) return;
                        while (next <= row + i) made->before[next++] = count;
                        made->Append(point, count++, one_per_time);
                      });
      row += chunk.size();
      while (next < row) made->before[next++] = count;
    }
    made->before[row] = count;
    return made;
  }

  struct Frame {
    std::span<const Point<V>> points;
    bool in_place = false;  // next to each other, and in order
  };

  // The points of a frame; with holes (EXCLUDE) they are copied to `copy`.
  Frame Of(const duckdb::SubFrames& frames, std::vector<Point<V>>* copy) const {
    if (frames.size() == 1) {
      const auto part = Part(frames[0].start, frames[0].end);
      if (part.empty()) return {part, true};
      const auto first = static_cast<uint64_t>(part.data() - points);
      return {part, breaks[first] == breaks[first + part.size() - 1]};
    }
    for (const auto& frame : frames) {
      const auto part = Part(frame.start, frame.end);
      copy->insert(copy->end(), part.begin(), part.end());
    }
    return {*copy, false};
  }

 private:
  void Append(const Point<V>& point, uint64_t index, bool one_per_time) {
    points[index] = point;
    breaks[index] = 0;
    if (index == 0) return;
    const Point<V>& last = points[index - 1];
    const bool in_order = one_per_time ? last.time < point.time : !PointLess(point, last);
    breaks[index] = breaks[index - 1] + (in_order ? 0 : 1);
  }

  std::span<const Point<V>> Part(uint64_t begin, uint64_t end) const {
    if (begin >= end) return {};
    return {points + before[begin], points + before[end]};
  }
};

}  // namespace timelake::sql

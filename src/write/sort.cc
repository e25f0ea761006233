#include "write/sort.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace timelake::write {
namespace {

size_t IndexOf(const Target& target, int field_id) {
  size_t i = 0;
  while (i < target.schema.fields.size() && target.schema.fields[i].id != field_id) ++i;
  return i;
}

// Times of rows, and what decides between equal ones before the order of writes does.
struct Times {
  const int64_t* time = nullptr;
  const int64_t* ingest = nullptr;  // null: no such column

  bool Less(uint32_t a, uint32_t b) const {
    if (time[a] != time[b]) return time[a] < time[b];
    return ingest != nullptr && ingest[a] < ingest[b];
  }
};

Times TimesOf(const Target& target, const Rows& rows) {
  Times times;
  const auto values = [&](int id) {
    return rows.columns[IndexOf(target, id)]->data()->GetValues<int64_t>(1);
  };
  times.time = values(*target.contract.time_id);
  if (target.contract.ingest_time_id) times.ingest = values(*target.contract.ingest_time_id);
  return times;
}

Result<Ranks> RankSeries(const Target& target, const Rows& rows) {
  Ranks series{std::vector<uint32_t>(rows.count, 0), 1};
  for (int id : target.contract.key_ids) {
    TL_ASSIGN_OR_RAISE(Ranks key, RankColumn(*rows.columns[IndexOf(target, id)]));
    series = CombineRanks(std::move(series), key);
  }
  return series;
}

// Ends of the runs of one series in `order`.
template <typename Fn>
void ForEachSeries(const std::vector<uint32_t>& order, const Ranks& series, Fn&& visit) {
  size_t begin = 0;
  while (begin < order.size()) {
    const uint32_t rank = series.of_row[order[begin]];
    size_t end = begin + 1;
    while (end < order.size() && series.of_row[order[end]] == rank) ++end;
    visit(begin, end);
    begin = end;
  }
}

void SortByTime(const Ranks& series, const Times& times, std::vector<uint32_t>* order) {
  const auto less = [&](uint32_t a, uint32_t b) { return times.Less(a, b); };
  ForEachSeries(*order, series, [&](size_t begin, size_t end) {
    const auto first = order->begin() + static_cast<ptrdiff_t>(begin);
    const auto last = order->begin() + static_cast<ptrdiff_t>(end);
    if (!std::is_sorted(first, last, less)) std::stable_sort(first, last, less);
  });
}

// Keeps the last row of each (series, time); returns how many went.
int64_t DropReplaced(const Ranks& series, const Times& times, std::vector<uint32_t>* order) {
  const size_t before = order->size();
  size_t kept = 0;
  for (size_t i = 0; i < before; ++i) {
    const uint32_t row = (*order)[i];
    if (i + 1 < before) {
      const uint32_t next = (*order)[i + 1];
      if (series.of_row[row] == series.of_row[next] && times.time[row] == times.time[next]) {
        continue;
      }
    }
    (*order)[kept++] = row;
  }
  order->resize(kept);
  return static_cast<int64_t>(before - kept);
}

// Whether the declared order is the contract's own: (key..., time), ascending, nulls first.
bool IsContractOrder(const Target& target) {
  std::vector<int> ids = target.contract.key_ids;
  ids.push_back(*target.contract.time_id);
  const auto& fields = target.order.fields;
  return fields.size() == ids.size() &&
         std::equal(fields.begin(), fields.end(), ids.begin(), [](const auto& field, int id) {
           return field.source_id == id &&
                  field.transform.kind == iceberg::TransformKind::kIdentity &&
                  field.direction == iceberg::SortDirection::kAscending &&
                  field.null_order == iceberg::NullOrder::kFirst;
         });
}

Result<std::vector<uint32_t>> OrderSeries(const Target& target, const Rows& rows,
                                          Arrangement* arrangement) {
  TL_ASSIGN_OR_RAISE(const Ranks series, RankSeries(target, rows));
  const Times times = TimesOf(target, rows);
  std::vector<uint32_t> order(rows.count);
  std::iota(order.begin(), order.end(), 0);
  order = CountingSort(order, series);
  SortByTime(series, times, &order);
  if (target.contract.dedup) arrangement->duplicates = DropReplaced(series, times, &order);
  ForEachSeries(order, series,
                [&](size_t, size_t end) { arrangement->newest.push_back(order[end - 1]); });
  arrangement->sorted = IsContractOrder(target);
  return order;
}

// The declared order of a plain table; empty if there is none or it cannot be followed.
std::vector<OrderColumn> DeclaredOrder(const Target& target) {
  std::vector<OrderColumn> order;
  for (const iceberg::SortField& field : target.order.fields) {
    const size_t i = IndexOf(target, field.source_id);
    if (i == target.schema.fields.size() || !target.schema.fields[i].type.is_primitive() ||
        field.transform.kind != iceberg::TransformKind::kIdentity) {
      return {};
    }
    order.push_back({static_cast<int>(i), field.direction == iceberg::SortDirection::kDescending,
                     field.null_order == iceberg::NullOrder::kLast});
  }
  return order;
}

Result<std::vector<uint32_t>> OrderDeclared(const Target& target, const Rows& rows,
                                            Arrangement* arrangement) {
  std::vector<uint32_t> order(rows.count);
  std::iota(order.begin(), order.end(), 0);
  const std::vector<OrderColumn> declared = DeclaredOrder(target);
  if (declared.empty()) return order;
  Ranks ranks{std::vector<uint32_t>(rows.count, 0), 1};
  for (const OrderColumn& by : declared) {
    TL_ASSIGN_OR_RAISE(Ranks column,
                       RankColumn(*rows.columns[by.column], by.descending, by.nulls_last));
    ranks = CombineRanks(std::move(ranks), column);
  }
  arrangement->sorted = true;
  return CountingSort(order, ranks);
}

}  // namespace

std::vector<OrderColumn> OrderColumns(const Target& target) {
  if (!target.contract.is_time_series()) return DeclaredOrder(target);
  std::vector<OrderColumn> order;
  for (int id : target.contract.key_ids) {
    order.push_back({static_cast<int>(IndexOf(target, id)), false, false});
  }
  order.push_back({static_cast<int>(IndexOf(target, *target.contract.time_id)), false, false});
  if (const auto ingest = target.contract.ingest_time_id) {
    order.push_back({static_cast<int>(IndexOf(target, *ingest)), false, false});
  }
  return order;
}

std::vector<uint32_t> CountingSort(const std::vector<uint32_t>& order, const Ranks& ranks) {
  if (ranks.count <= 1) return order;
  const auto less = [&](uint32_t a, uint32_t b) { return ranks.of_row[a] < ranks.of_row[b]; };
  if (std::is_sorted(order.begin(), order.end(), less)) return order;
  std::vector<uint32_t> next(ranks.count + size_t{1}, 0);
  for (uint32_t row : order) ++next[ranks.of_row[row] + size_t{1}];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<uint32_t> sorted(order.size());
  for (uint32_t row : order) sorted[next[ranks.of_row[row]]++] = row;
  return sorted;
}

Result<Arrangement> ArrangeRows(const Target& target, const Rows& rows) {
  Arrangement arrangement;
  if (target.contract.is_time_series()) {
    TL_ASSIGN_OR_RAISE(arrangement.order, OrderSeries(target, rows, &arrangement));
  } else {
    TL_ASSIGN_OR_RAISE(arrangement.order, OrderDeclared(target, rows, &arrangement));
  }
  // Partitions last: whatever the spec is, replaced rows are found beside their successors before.
  TL_ASSIGN_OR_RAISE(Partitions partitions, SplitRows(target, rows));
  arrangement.order = CountingSort(arrangement.order, partitions.ranks);
  const std::vector<uint32_t>& order = arrangement.order;
  ForEachSeries(order, partitions.ranks, [&](size_t begin, size_t end) {
    arrangement.partitions.push_back({partitions.values[partitions.ranks.of_row[order[begin]]],
                                      static_cast<int64_t>(begin), static_cast<int64_t>(end)});
  });
  arrangement.in_place = static_cast<int64_t>(order.size()) == rows.count &&
                         std::is_sorted(order.begin(), order.end());
  return arrangement;
}

}  // namespace timelake::write

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

// Ends of the runs of one rank in `order`.
template <typename Fn>
void ForEachRun(const std::vector<uint32_t>& order, const Ranks& ranks, Fn&& visit) {
  size_t begin = 0;
  while (begin < order.size()) {
    const uint32_t rank = ranks.of_row[order[begin]];
    size_t end = begin + 1;
    while (end < order.size() && ranks.of_row[order[end]] == rank) ++end;
    visit(begin, end);
    begin = end;
  }
}

// Sorts rows [begin, end) of one series by time if need be; true if no two have the same time.
bool SortByTime(const Times& times, std::vector<uint32_t>* order, size_t begin, size_t end) {
  const auto first = order->begin() + static_cast<ptrdiff_t>(begin);
  const auto last = order->begin() + static_cast<ptrdiff_t>(end);
  const auto ends_growth = [&](uint32_t a, uint32_t b) { return times.time[a] >= times.time[b]; };
  // One look at each row of a series that grows, as most do.
  if (std::adjacent_find(first, last, ends_growth) == last) return true;
  const auto less = [&](uint32_t a, uint32_t b) { return times.Less(a, b); };
  if (!std::is_sorted(first, last, less)) std::stable_sort(first, last, less);
  const auto same = [&](uint32_t a, uint32_t b) { return times.time[a] == times.time[b]; };
  return std::adjacent_find(first, last, same) == last;
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
  std::vector<uint32_t> ends;
  order = CountingSort(std::move(order), series, &ends);
  // The ends of the runs are known from the counts: of_row of rows in another order is slow to
  // read.
  bool distinct = true;
  for (size_t i = 0; i + 1 < ends.size(); ++i) {
    if (ends[i] == ends[i + 1]) continue;
    distinct = SortByTime(times, &order, ends[i], ends[i + 1]) && distinct;
    arrangement->newest.push_back(order[ends[i + 1] - 1]);
  }
  if (target.contract.dedup && !distinct) {
    arrangement->duplicates = DropReplaced(series, times, &order);
  }
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
  return CountingSort(std::move(order), ranks);
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

bool FollowsOrder(const Target& target) {
  return target.contract.is_time_series() ? IsContractOrder(target)
                                          : !DeclaredOrder(target).empty();
}

std::vector<uint32_t> CountingSort(std::vector<uint32_t> order, const Ranks& ranks,
                                   std::vector<uint32_t>* ends) {
  std::vector<uint32_t> next(ranks.count + size_t{1}, 0);
  for (uint32_t row : order) ++next[ranks.of_row[row] + size_t{1}];
  std::partial_sum(next.begin(), next.end(), next.begin());
  if (ends != nullptr) *ends = next;
  const auto less = [&](uint32_t a, uint32_t b) { return ranks.of_row[a] < ranks.of_row[b]; };
  if (std::is_sorted(order.begin(), order.end(), less)) return order;
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
  if (partitions.values.size() == 1) {
    arrangement.partitions.push_back(
        {partitions.values.front(), 0, static_cast<int64_t>(arrangement.order.size())});
  } else {
    arrangement.order = CountingSort(std::move(arrangement.order), partitions.ranks);
    ForEachRun(arrangement.order, partitions.ranks, [&](size_t begin, size_t end) {
      const uint32_t rank = partitions.ranks.of_row[arrangement.order[begin]];
      arrangement.partitions.push_back(
          {partitions.values[rank], static_cast<int64_t>(begin), static_cast<int64_t>(end)});
    });
  }
  const std::vector<uint32_t>& order = arrangement.order;
  arrangement.in_place = static_cast<int64_t>(order.size()) == rows.count &&
                         std::is_sorted(order.begin(), order.end());
  return arrangement;
}

}  // namespace timelake::write

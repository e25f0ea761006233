#pragma once

#include <cstdint>
#include <vector>

#include "write/combine.h"
#include "write/row_compare.h"
#include "write/split.h"

namespace timelake::write {

// Rows [begin, end) of Arrangement::order, all of one partition.
struct PartitionRun {
  std::vector<iceberg::Value> values;
  int64_t begin = 0;
  int64_t end = 0;
};

// The order in which an append's rows are written.
struct Arrangement {
  // Rows by (partition, sort order); equal ones in input order. With dedup, without the rows that
  // a later row of the same series and time replaces.
  std::vector<uint32_t> order;
  bool in_place = false;  // `order` is 0, 1, 2, ...: nothing needs to move
  bool sorted = false;    // by `target.order`
  std::vector<PartitionRun> partitions;
  std::vector<uint32_t> newest;  // last row of each series, by series key; empty for plain tables
  int64_t duplicates = 0;
};

// What ArrangeRows orders the rows of a partition by: series key, time and ingest time; of a plain
// table its declared order. Empty: they stay as they come.
std::vector<OrderColumn> OrderColumns(const Target& target);

// Whether ArrangeRows leaves rows in the table's declared order; without one it does not.
bool FollowsOrder(const Target& target);

// A stable sort by ranks: rows are counted into series and partitions, and sorted by time only
// where a series is not in the order of time already.
Result<Arrangement> ArrangeRows(const Target& target, const Rows& rows);

// Stable: rows of `order` by their rank, equal ranks as they are. Rank r has the places from
// (*ends)[r] to (*ends)[r + 1].
std::vector<uint32_t> CountingSort(std::vector<uint32_t> order, const Ranks& ranks,
                                   std::vector<uint32_t>* ends = nullptr);

}  // namespace timelake::write

#include "scan/winners.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include <arrow/array/array_primitive.h>

namespace timelake::scan {
namespace {

// The first index in [begin, end) for which `before` is false, or `end`; fast when it is near.
template <typename Before>
int64_t Gallop(int64_t begin, int64_t end, Before&& before) {
  int64_t step = 1;
  int64_t low = begin;
  while (low < end && before(low)) {
    begin = low + 1;
    low += step;
    step *= 2;
  }
  end = std::min(low, end);
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (before(middle)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

}  // namespace

// Rows [begin, end) of a batch that are of one series, against the rows [from, to) here.
struct Winners::Run {
  const SeriesBatch& batch;
  const std::vector<SeriesRow>& winners;
  const Rule rule;
  std::vector<int64_t>* const positions;

  void Judge(int64_t row, const SeriesRow& winner) const {
    const int64_t position = (*batch.positions)[static_cast<size_t>(row)];
    if (rule.same_file) {
      if (winner.position != position) positions->push_back(position);
      return;
    }
    const int64_t ingest = batch.ingests && batch.ingests->IsValid(row)
                               ? batch.ingests->Value(row)
                               : std::numeric_limits<int64_t>::min();
    if (ingest < winner.ingest || (ingest == winner.ingest && rule.older)) {
      positions->push_back(position);
    }
  }

  int64_t TimeOf(int64_t winner) const { return winners[static_cast<size_t>(winner)].time; }

  // The last of the winners from `first` on with its time.
  int64_t LastOf(int64_t first, int64_t to) const {
    while (first + 1 < to && TimeOf(first + 1) == TimeOf(first)) ++first;
    return first;
  }

  void InOrder(int64_t begin, int64_t end, int64_t from, int64_t to) const {
    const int64_t* times = batch.times->raw_values();
    while (begin < end && from < to) {
      const int64_t time = TimeOf(from);
      if (time < times[begin]) {
        from = Gallop(from, to, [&](int64_t i) { return TimeOf(i) < times[begin]; });
      } else if (times[begin] < time) {
        begin = Gallop(begin, end, [&](int64_t i) { return times[i] < time; });
      } else {
        from = LastOf(from, to);
        for (; begin < end && times[begin] == time; ++begin) {
          Judge(begin, winners[static_cast<size_t>(from)]);
        }
        ++from;
      }
    }
  }

  void InAnyOrder(int64_t begin, int64_t end, int64_t from, int64_t to) const {
    for (int64_t row = begin; row < end; ++row) {
      if (batch.times->IsNull(row)) continue;
      const int64_t time = batch.times->Value(row);
      const int64_t found = Gallop(from, to, [&](int64_t i) { return TimeOf(i) < time; });
      if (found < to && TimeOf(found) == time) {
        Judge(row, winners[static_cast<size_t>(LastOf(found, to))]);
      }
    }
  }
};

Winners::Winners(std::vector<SeriesRow> rows, size_t series) : rows_(std::move(rows)) {
  const auto order = [](const SeriesRow& row) {
    return std::tie(row.series, row.time, row.ingest, row.position);
  };
  const auto before = [&](const SeriesRow& a, const SeriesRow& b) { return order(a) < order(b); };
  if (!std::is_sorted(rows_.begin(), rows_.end(), before)) {
    std::sort(rows_.begin(), rows_.end(), before);
  }
  starts_.assign(series + 1, rows_.size());
  for (size_t i = rows_.size(); i-- > 0;) starts_[static_cast<size_t>(rows_[i].series)] = i;
  for (size_t i = series; i-- > 0;) starts_[i] = std::min(starts_[i], starts_[i + 1]);
  if (rows_.empty()) return;
  const auto [first, last] =
      std::minmax_element(rows_.begin(), rows_.end(),
                          [](const SeriesRow& a, const SeriesRow& b) { return a.time < b.time; });
  first_time_ = first->time;
  last_time_ = last->time;
}

void Winners::Mark(const SeriesBatch& batch, Rule rule, std::vector<int64_t>* positions) const {
  const std::vector<int32_t>& series = *batch.series;
  const auto rows = static_cast<int64_t>(series.size());
  const int64_t* times = batch.times->raw_values();
  const Run run{batch, rows_, rule, positions};
  for (int64_t begin = 0; begin < rows;) {
    const int32_t one = series[static_cast<size_t>(begin)];
    int64_t end = begin + 1;
    while (end < rows && series[static_cast<size_t>(end)] == one) ++end;
    // Series that were numbered later have no row here.
    if (one >= 0 && static_cast<size_t>(one) + 1 < starts_.size()) {
      const auto from = static_cast<int64_t>(starts_[static_cast<size_t>(one)]);
      const auto to = static_cast<int64_t>(starts_[static_cast<size_t>(one) + 1]);
      if (from < to && batch.times->null_count() == 0 &&
          std::is_sorted(times + begin, times + end)) {
        run.InOrder(begin, end, from, to);
      } else if (from < to) {
        run.InAnyOrder(begin, end, from, to);
      }
    }
    begin = end;
  }
}

}  // namespace timelake::scan

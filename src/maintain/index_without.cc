#include "maintain/index_without.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <arrow/array.h>
#include <fmt/format.h>

#include "index/carry_over.h"
#include "index/key_order.h"
#include "index/last_value_index.h"
#include "index/look_up_again.h"
#include "index/next_index.h"
#include "index/take_rows.h"
#include "maintain/newest_of.h"

namespace timelake::maintain {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

// Rows of the index whose time lies among those of a dropped file.
std::vector<int64_t> Affected(const arrow::RecordBatch& index, int time_column,
                              const LiveFiles& live, const std::vector<size_t>& dropped) {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  for (size_t i : dropped) {
    first = std::min(first, live.files()[i].range.first);
    last = std::max(last, live.files()[i].range.last);
  }
  const int64_t* times = index.column(time_column)->data()->GetValues<int64_t>(1);
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < index.num_rows(); ++row) {
    if (first <= times[row] && times[row] <= last) rows.push_back(row);
  }
  return rows;
}

// Those places in the index whose row is not among the kept ones. With dedup the rows of one series
// and time go together, so that one of them that is kept is the row that the index has.
Result<std::vector<int64_t>> NotKept(const Batch& index, std::vector<int64_t> places,
                                     const std::vector<KeptRows>& kept,
                                     const iceberg::Schema& schema,
                                     const table::Contract& contract) {
  for (const KeptRows& one : kept) {
    if (places.empty()) break;
    TL_ASSIGN_OR_RAISE(const auto rows, index::TakeRows(index, places));
    TL_ASSIGN_OR_RAISE(const auto order,
                       index::RowOrder::Make(*rows, *one.newest, schema, contract));
    std::set<int64_t> found;
    for (const auto& place : index::Locate(order, rows->num_rows(), one.newest->num_rows())) {
      if (place.matches && order.SameTime(place.older, place.newer)) {
        found.insert(places[static_cast<size_t>(place.older)]);
      }
    }
    std::erase_if(places, [&](int64_t place) { return found.contains(place); });
  }
  return places;
}

// Files that may hold the newest rows that are left, those with the latest times first.
std::vector<const LiveFile*> Candidates(const LiveFiles& live, const std::vector<size_t>& dropped,
                                        int64_t latest) {
  const std::set<size_t> gone(dropped.begin(), dropped.end());
  std::vector<const LiveFile*> candidates;
  for (size_t i = 0; i < live.files().size(); ++i) {
    const LiveFile& file = live.files()[i];
    if (!gone.contains(i) && file.range.first <= latest) candidates.push_back(&file);
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const LiveFile* a, const LiveFile* b) {
    return a->range.last > b->range.last;
  });
  return candidates;
}

// The newest rows of some series in what is left of a table.
struct Search {
  const table::Env& env;
  const LiveFiles& live;
  const table::Contract& contract;
  const iceberg::Schema& schema;
  const std::vector<KeptRows>& kept;
  const IndexReading& reading;

  // Those of all series in the first `count` candidates and in what is kept.
  Result<Batch> NewestIn(const std::vector<const LiveFile*>& candidates, size_t count) const {
    std::vector<const scan::ScanFile*> files;
    for (size_t i = 0; i < count; ++i) files.push_back(candidates[i]->file);
    KnownNewest known;
    for (const KeptRows& one : kept) {
      files.push_back(&one.file);
      known[&one.file] = one.newest;
    }
    return NewestOf(env, live, std::move(files), contract, known);
  }

  // Whether each series of `wanted` is in `found`, with a row later than `time`.
  Result<bool> HasAll(const arrow::RecordBatch& wanted, const arrow::RecordBatch& found,
                      int64_t time) const {
    TL_ASSIGN_OR_RAISE(const auto order, index::RowOrder::Make(wanted, found, schema, contract));
    const int column = index::ColumnOf(schema, *contract.time_id);
    const int64_t* times = found.column(column)->data()->GetValues<int64_t>(1);
    int64_t later = 0;
    for (const auto& place : index::Locate(order, wanted.num_rows(), found.num_rows())) {
      if (place.matches && times[place.newer] > time) ++later;
    }
    return later == wanted.num_rows();
  }

  // nullopt: too much would have to be read. What is read is read again with the next part, as the
  // order of writes decides between files.
  Result<std::optional<Batch>> Find(const arrow::RecordBatch& wanted,
                                    const std::vector<const LiveFile*>& candidates) const {
    const auto size = [&](size_t i) { return candidates[i]->file->data->file_size_in_bytes; };
    size_t count = 0;
    int64_t bytes = 0;
    for (int64_t wish = reading.first;; wish = 2 * bytes) {
      for (bool more = true; more && count < candidates.size(); ++count) {
        if (bytes + size(count) > reading.most) break;
        bytes += size(count);
        more = bytes < wish;
      }
      TL_ASSIGN_OR_RAISE(Batch found, NewestIn(candidates, count));
      if (count == candidates.size()) return found;
      TL_ASSIGN_OR_RAISE(const bool all, HasAll(wanted, *found, candidates[count]->range.last));
      if (all) return found;
      if (bytes + size(count) > reading.most) return std::nullopt;
    }
  }
};

}  // namespace

Result<std::optional<table::IndexObject>> IndexWithout(
    const table::Handle& handle, const table::Version& base, int64_t snapshot_id,
    const LiveFiles& live, const std::vector<size_t>& dropped, const table::Contract& contract,
    const std::vector<KeptRows>& kept, const IndexReading& reading) {
  const table::Env& env = handle.env();
  const iceberg::TableMetadata& metadata = *base.metadata;
  const iceberg::Snapshot* head = iceberg::CurrentSnapshot(metadata);
  if (head == nullptr || !contract.is_time_series()) return std::nullopt;
  TL_ASSIGN_OR_RAISE(const auto known, index::ValidAt(env, metadata, *head, contract));
  if (!known) return std::nullopt;
  const iceberg::Schema& schema = *iceberg::CurrentSchema(metadata);
  const Batch& rows = *known;
  const int time_column = index::ColumnOf(schema, *contract.time_id);
  std::vector<int64_t> affected = Affected(*rows, time_column, live, dropped);
  if (contract.dedup) {
    TL_ASSIGN_OR_RAISE(affected, NotKept(rows, std::move(affected), kept, schema, contract));
  }
  if (affected.empty()) return index::CarryOver(handle, base, snapshot_id, {}, true);

  // No row of these series is younger than its indexed one.
  const int64_t* times = rows->column(time_column)->data()->GetValues<int64_t>(1);
  int64_t latest = std::numeric_limits<int64_t>::min();
  for (int64_t row : affected) latest = std::max(latest, times[row]);
  TL_ASSIGN_OR_RAISE(const Batch wanted, index::TakeRows(rows, affected));
  const Search search{env, live, contract, schema, kept, reading};
  TL_ASSIGN_OR_RAISE(const auto found, search.Find(*wanted, Candidates(live, dropped, latest)));
  if (!found) {
    env.Log(LogLevel::kInfo, handle.name() + ": no last-value index is kept: too much would have " +
                                 "to be read for it");
    return std::nullopt;
  }
  TL_ASSIGN_OR_RAISE(const Batch left,
                     index::LookUpAgain(rows, affected, *found, schema, contract));
  TL_ASSIGN_OR_RAISE(auto object,
                     index::WholeIndex(env, handle.folder(), snapshot_id, left, schema));
  return object;
}

}  // namespace timelake::maintain

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

// Of files that are read to find the rows of series again.
constexpr int64_t kMostBytes = 256 << 20;

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

}  // namespace

Result<std::optional<table::IndexObject>> IndexWithout(const table::Handle& handle,
                                                       const table::Version& base,
                                                       int64_t snapshot_id, const LiveFiles& live,
                                                       const std::vector<size_t>& dropped,
                                                       const table::Contract& contract,
                                                       const std::vector<KeptRows>& kept) {
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
  const std::set<size_t> gone(dropped.begin(), dropped.end());
  std::vector<const scan::ScanFile*> candidates;
  int64_t bytes = 0;
  for (size_t i = 0; i < live.files().size(); ++i) {
    const LiveFile& file = live.files()[i];
    if (gone.contains(i) || file.range.first > latest) continue;
    candidates.push_back(file.file);
    bytes += file.file->data->file_size_in_bytes;
  }
  if (bytes > kMostBytes) {
    env.Log(LogLevel::kInfo,
            fmt::format("{}: no last-value index is kept: {} bytes would have to be read for it",
                        handle.name(), bytes));
    return std::nullopt;
  }
  KnownNewest known_rows;
  for (const KeptRows& one : kept) {
    candidates.push_back(&one.file);
    known_rows[&one.file] = one.newest;
  }
  TL_ASSIGN_OR_RAISE(const Batch found,
                     NewestOf(env, live, std::move(candidates), contract, known_rows));
  TL_ASSIGN_OR_RAISE(const Batch left, index::LookUpAgain(rows, affected, found, schema, contract));
  TL_ASSIGN_OR_RAISE(auto object,
                     index::WholeIndex(env, handle.folder(), snapshot_id, left, schema));
  return object;
}

}  // namespace timelake::maintain

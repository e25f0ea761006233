#include "sim/oracle.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace timelake::sim {
namespace {

std::string Text(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format(" {}@{}={}", row.series, row.time, row.value);
    if (row.column != kFirstValueId) text += fmt::format("#{}", row.column);
  }
  return text;
}

}  // namespace

void Oracle::Follow(int64_t snapshot_id, std::optional<int64_t> parent, const Change& change,
                    const RawSnapshot& raw) {
  State state;
  state.parent = parent;
  state.batch_id = change.batch_id;
  if (parent) state.placed = states_.at(*parent).placed;
  std::erase_if(state.placed, [&](const Placed& placed) {
    return std::count(change.removed.begin(), change.removed.end(), placed.file) > 0;
  });
  Move(change, &state);
  if (change.past) Retain(*change.past, raw, &state);
  for (const std::string& file : change.added) {
    for (const Row& row : contents_.at(file)) state.placed.push_back({row, file});
    state.added_rows += static_cast<int64_t>(contents_.at(file).size());
  }
  states_.emplace(snapshot_id, std::move(state));
}

// Rows stay where they are in the order of writes, whatever file they are in.
void Oracle::Move(const Change& change, State* state) const {
  if (change.moves.empty()) return;
  Rows expected = Visible(state->placed);
  std::erase_if(expected, [&](const Row& row) { return change.gone.contains(row); });
  for (const Change::Move& move : change.moves) {
    const std::set<std::string> inputs(move.inputs.begin(), move.inputs.end());
    std::set<Row> left;
    if (!move.output.empty()) {
      left.insert(contents_.at(move.output).begin(), contents_.at(move.output).end());
    }
    std::erase_if(state->placed, [&](Placed& placed) {
      if (!inputs.contains(placed.file)) return false;
      placed.file = move.output;
      return !left.contains(placed.row);
    });
  }
  const Rows now = Visible(state->placed);
  if (now == expected) return;
  state->wrong =
      fmt::format("rows that were rewritten differ: has{}, wanted{}", Text(now), Text(expected));
}

// Which files go is not foreseen; but no row that is not past, all that are, and none comes to
// light.
void Oracle::Retain(const Past& past, const RawSnapshot& raw, State* state) const {
  const Rows before = Visible(state->placed);
  std::set<std::string> live;
  for (const auto& file : raw.files) live.insert(file.key);
  std::erase_if(state->placed, [&](const Placed& placed) { return !live.contains(placed.file); });
  const Rows after = Visible(state->placed);
  Rows gone, come;
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::back_inserter(gone));
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(come));
  if (!come.empty()) state->wrong = "retention brought rows to light:" + Text(come);
  std::erase_if(gone, [&](const Row& row) { return row.time < past.may; });
  if (!gone.empty()) state->wrong = "retention took rows that are not past:" + Text(gone);
  Rows left = after;
  std::erase_if(left, [&](const Row& row) { return row.time >= past.must; });
  if (!left.empty()) state->wrong = "retention left rows that are past:" + Text(left);
}

bool Oracle::Carries(std::optional<int64_t> head, const std::string& batch_id) const {
  for (; head; head = states_.at(*head).parent) {
    if (states_.at(*head).batch_id == batch_id) return true;
  }
  return false;
}

std::set<std::string> Oracle::BatchIds(std::optional<int64_t> head) const {
  std::set<std::string> ids;
  for (; head; head = states_.at(*head).parent) ids.insert(states_.at(*head).batch_id);
  ids.erase("");
  return ids;
}

// Sorted; with dedup only the last of each series and time.
Oracle::Rows Oracle::Visible(const Rows& in_order) const {
  Rows rows;
  if (dedup_) {
    std::map<std::pair<int64_t, int64_t>, Row> last;
    for (const Row& row : in_order) last[{row.series, row.time}] = row;
    for (const auto& [key, row] : last) rows.push_back(row);
  } else {
    rows = in_order;
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

Oracle::Rows Oracle::Visible(const std::vector<Placed>& placed) const {
  Rows rows;
  for (const Placed& one : placed) rows.push_back(one.row);
  return Visible(rows);
}

std::string Oracle::CheckIndex(const Rows& in_order, const std::map<int64_t, Row>& index,
                               const std::set<int>& columns) const {
  std::map<int64_t, Row> newest;
  for (const Row& row : in_order) {
    auto [it, first] = newest.emplace(row.series, row);
    if (!first && row.time >= it->second.time) it->second = row;
  }
  for (auto& [series, row] : newest) {
    if (!columns.contains(row.column)) row.value = row.column = 0;
  }
  if (newest == index) return "";
  Rows want, got;
  for (const auto& [series, row] : newest) want.push_back(row);
  for (const auto& [series, row] : index) got.push_back(row);
  return fmt::format("index differs from the newest rows: has{}, wanted{}", Text(got), Text(want));
}

std::string Oracle::Check(int64_t snapshot_id, const RawSnapshot& raw,
                          const std::set<int>& columns) const {
  auto files = raw.files;
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return std::tie(a.sequence_number, a.key) < std::tie(b.sequence_number, b.key);
  });
  Rows live, expected;
  for (const auto& file : files) {
    auto rows = contents_.find(file.key);
    if (rows == contents_.end()) return fmt::format("{} is nobody's data file", file.key);
    live.insert(live.end(), rows->second.begin(), rows->second.end());
  }
  for (const Placed& placed : states_.at(snapshot_id).placed) expected.push_back(placed.row);
  if (!states_.at(snapshot_id).wrong.empty()) return states_.at(snapshot_id).wrong;
  const Rows got = Visible(live), want = Visible(expected);
  if (got != want) {
    return fmt::format("rows differ from the order of writes: has{}, wanted{}", Text(got),
                       Text(want));
  }
  return raw.index ? CheckIndex(expected, *raw.index, columns) : "";
}

}  // namespace timelake::sim

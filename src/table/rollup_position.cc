#include "table/rollup_position.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"

namespace timelake::table {
namespace {

std::optional<int64_t> ToInt(const std::string& text) {
  const auto number = ParseInt64(text);
  if (!number.ok()) return std::nullopt;
  return *number;
}

const std::string* Find(const std::map<std::string, std::string>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

constexpr const char* kKeys[] = {kRollupSourceSnapshot, kRollupSourceSequence, kRollupSourceTable,
                                 kRollupFloor, kRollupPartial};

// The summary that speaks of the position: the current one, or behind merges.
const std::map<std::string, std::string>* NewestKeys(const iceberg::TableMetadata& metadata) {
  const iceberg::Snapshot* snapshot = iceberg::CurrentSnapshot(metadata);
  while (snapshot) {
    for (const char* key : kKeys) {
      if (snapshot->summary.contains(key)) return &snapshot->summary.map();
    }
    const auto* operation = Find(snapshot->summary, "operation");
    if (!operation || *operation != "replace" || !snapshot->parent_snapshot_id) return nullptr;
    snapshot = iceberg::SnapshotById(metadata, *snapshot->parent_snapshot_id);
  }
  return nullptr;
}

std::string RangesText(const std::vector<TimeRange>& ranges) {
  std::string text;
  for (const auto& range : ranges) {
    text += fmt::format("{}{},{}", text.empty() ? "" : ";", range.first, range.end);
  }
  return text;
}

std::optional<std::vector<TimeRange>> ParseRanges(std::string_view text) {
  std::vector<TimeRange> ranges;
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    const std::string_view item = text.substr(0, end);
    const size_t comma = item.find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    const auto first = ToInt(std::string(item.substr(0, comma)));
    const auto last = ToInt(std::string(item.substr(comma + 1)));
    if (!first || !last || *first >= *last) return std::nullopt;
    ranges.push_back({*first, *last});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return ranges;
}

std::optional<RollupPosition> PositionOf(const std::map<std::string, std::string>& summary) {
  RollupPosition position;
  if (const auto* table = Find(summary, kRollupSourceTable)) position.table = *table;
  if (const auto* floor = Find(summary, kRollupFloor)) {
    const auto value = ToInt(*floor);
    if (!value) return std::nullopt;
    position.floor_us = *value;
  }
  // "snapshot:sequence:first,end;first,end"
  if (const auto* partial = Find(summary, kRollupPartial)) {
    const size_t one = partial->find(':');
    const size_t two = one == std::string::npos ? one : partial->find(':', one + 1);
    if (two == std::string::npos) return std::nullopt;
    const auto snapshot = ToInt(partial->substr(0, one));
    const auto sequence = ToInt(partial->substr(one + 1, two - one - 1));
    auto todo = ParseRanges(std::string_view(*partial).substr(two + 1));
    if (!snapshot || !sequence || !todo || todo->empty()) return std::nullopt;
    position.snapshot = *snapshot;
    position.sequence = *sequence;
    position.todo = std::move(*todo);
    return position;
  }
  const auto* snapshot = Find(summary, kRollupSourceSnapshot);
  const auto* sequence = Find(summary, kRollupSourceSequence);
  if (!snapshot || !sequence) return std::nullopt;
  const auto id = ToInt(*snapshot), number = ToInt(*sequence);
  if (!id || !number) return std::nullopt;
  position.snapshot = *id;
  position.sequence = *number;
  return position;
}

}  // namespace

std::map<std::string, std::string> ToSummary(const RollupPosition& position,
                                             const std::optional<RollupPosition>& before) {
  std::map<std::string, std::string> summary;
  if (position.floor_us != std::numeric_limits<int64_t>::min()) {
    summary[kRollupFloor] = std::to_string(position.floor_us);
  }
  if (!position.table.empty()) summary[kRollupSourceTable] = position.table;
  const RollupPosition* whole = &position;
  if (!position.todo.empty()) {
    summary[kRollupPartial] =
        fmt::format("{}:{}:{}", position.snapshot, position.sequence, RangesText(position.todo));
    // Who does not know of parts goes on from where all was done.
    whole = before && before->todo.empty() ? &*before : nullptr;
  }
  if (whole) {
    summary[kRollupSourceSnapshot] = std::to_string(whole->snapshot);
    summary[kRollupSourceSequence] = std::to_string(whole->sequence);
  }
  return summary;
}

std::optional<RollupPosition> ReadPosition(const iceberg::TableMetadata& metadata) {
  const auto* summary = NewestKeys(metadata);
  return summary ? PositionOf(*summary) : std::nullopt;
}

void CarryPosition(const iceberg::TableMetadata& base, iceberg::Summary* summary) {
  const auto has = [&](const char* key) { return summary->contains(key); };
  if (std::any_of(std::begin(kKeys), std::end(kKeys), has)) return;
  const auto* before = NewestKeys(base);
  if (!before) return;
  for (const char* key : kKeys) {
    if (const auto* value = Find(*before, key)) (*summary)[key] = *value;
  }
  const auto* cutoff = Find(*summary, kRetentionCutoff);
  if (!cutoff) return;
  const auto* floor = Find(*summary, kRollupFloor);
  const auto gone = ToInt(*cutoff), known = floor ? ToInt(*floor) : std::nullopt;
  if (gone && (!known || *known < *gone)) (*summary)[kRollupFloor] = std::to_string(*gone);
}

}  // namespace timelake::table

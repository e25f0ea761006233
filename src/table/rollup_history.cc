#include "table/rollup_history.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "table/rollup_position.h"
#include "table/rollup_properties.h"

namespace timelake::table {
namespace {

std::optional<int64_t> NumberOf(const iceberg::Snapshot& snapshot, const char* key) {
  const auto found = snapshot.summary.find(key);
  if (found == snapshot.summary.end()) return std::nullopt;
  const auto number = ParseInt64(found->second);
  if (!number.ok()) return std::nullopt;
  return *number;
}

}  // namespace

std::optional<RollupHistory> HistoryOf(const iceberg::Snapshot& snapshot) {
  const auto since = NumberOf(snapshot, kRowsKeptSince);
  if (!since) return std::nullopt;
  RollupHistory history;
  history.kept_since = *since;
  history.dropped_before = NumberOf(snapshot, kRowsDroppedBefore).value_or(history.dropped_before);
  return history;
}

void CarryHistory(const iceberg::TableMetadata& base, iceberg::Snapshot* snapshot) {
  if (RollupsOf(base.properties).empty()) return;
  const auto operation = snapshot->summary.find("operation");
  const bool adds = operation != snapshot->summary.end() &&
                    (operation->second == "append" || operation->second == "replace");
  const auto cutoff = NumberOf(*snapshot, kRetentionCutoff);
  const iceberg::Snapshot* parent = iceberg::CurrentSnapshot(base);
  // A higher number: snapshots on another line, e.g. that was rolled back from.
  const bool one_line = parent && parent->sequence_number == base.last_sequence_number;
  RollupHistory history;
  history.kept_since = snapshot->sequence_number;
  if ((adds || cutoff) && one_line) {
    const auto before = HistoryOf(*parent);
    history = before.value_or(RollupHistory{parent->sequence_number});
    if (cutoff) history.dropped_before = std::max(history.dropped_before, *cutoff);
  }
  snapshot->summary[kRowsKeptSince] = std::to_string(history.kept_since);
  if (history.dropped_before != RollupHistory().dropped_before) {
    snapshot->summary[kRowsDroppedBefore] = std::to_string(history.dropped_before);
  }
}

}  // namespace timelake::table

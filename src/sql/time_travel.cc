#include "sql/time_travel.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <duckdb/common/types/timestamp.hpp>
#include <duckdb/common/types/value.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/planner/tableref/bound_at_clause.hpp>

#include "base/civil_time.h"
#include "base/text.h"
#include "sql/error.h"

namespace timelake::sql {

namespace {

using iceberg::Snapshot;
using iceberg::TableMetadata;

// Saturates: metadata of other writers may hold any number.
int64_t MicrosOf(int64_t millis) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / kMicrosPerMilli;
  return std::clamp(millis, -kMost, kMost) * kMicrosPerMilli;
}

std::string When(int64_t millis) { return FormatTimestamp(MicrosOf(millis)); }

// "it holds 3 snapshots: 11 (2026-01-01T00:00:00Z), ..."
std::string WhatThereIs(const TableMetadata& metadata) {
  constexpr size_t kShown = 5;
  const auto& snapshots = metadata.snapshots;
  if (snapshots.empty()) return "it has no snapshots";
  std::vector<std::string> texts;
  const size_t first = snapshots.size() > kShown ? snapshots.size() - kShown : 0;
  for (size_t i = first; i < snapshots.size(); ++i) {
    texts.push_back(
        fmt::format("{} ({})", snapshots[i].snapshot_id, When(snapshots[i].timestamp_ms)));
  }
  for (const auto& [name, ref] : metadata.refs) texts.push_back(Quote(name));
  return fmt::format("it holds {} snapshot{}{}: {}", snapshots.size(),
                     snapshots.size() == 1 ? "" : "s", first > 0 ? ", the newest" : "",
                     Join(texts, ", "));
}

// The table's contract as far as the columns of `schema` go. A key column that was added later is
// NULL in every row that the snapshot has, so it tells no rows apart.
void FitContract(const iceberg::Schema& schema, TableVersion* table) {
  table::Contract& contract = table->contract;
  const auto name_of = [&](int id) -> const std::string* {
    const iceberg::Field* field = iceberg::FindFieldById(schema, id);
    return field ? &field->name : nullptr;
  };
  std::vector<int> ids;
  std::vector<std::string> names;
  for (const int id : contract.key_ids) {
    const std::string* name = name_of(id);
    if (!name) continue;
    ids.push_back(id);
    names.push_back(*name);
  }
  contract.key_ids = std::move(ids);
  contract.key_names = std::move(names);
  if (contract.ingest_time_id) {
    const std::string* name = name_of(*contract.ingest_time_id);
    if (name) contract.ingest_time_name = *name;
    if (!name) contract.ingest_time_id.reset();
  }
  if (!contract.time_id) return;
  if (const std::string* name = name_of(*contract.time_id)) {
    contract.time_name = *name;
  } else {
    contract.time_id.reset();
    table->dedup = false;
  }
}

}  // namespace

Result<const Snapshot*> SnapshotOfVersion(const std::string& table, const TableMetadata& metadata,
                                          const std::string& version) {
  std::optional<int64_t> id;
  if (const auto number = ParseInt64(version); number.ok()) id = *number;
  const auto ref = metadata.refs.find(version);
  if (!id && ref != metadata.refs.end()) id = ref->second.snapshot_id;
  if (id) {
    if (const Snapshot* snapshot = iceberg::SnapshotById(metadata, *id)) return snapshot;
  }
  return NotFound(
      "table {}: there is no snapshot{} {}: it may have expired, or never existed; {} (see "
      "\"{}$snapshots\")",
      table, id ? "" : ", branch or tag", id ? version : Quote(version), WhatThereIs(metadata),
      table.substr(table.find('.') + 1));
}

Result<const Snapshot*> SnapshotOfTime(const std::string& table, const TableMetadata& metadata,
                                       int64_t time_us) {
  const auto& log = metadata.snapshot_log;
  // The last entry counts: clocks of writers may disagree, and the log is in the order of commits.
  const auto entry = std::find_if(log.rbegin(), log.rend(), [&](const auto& candidate) {
    return MicrosOf(candidate.timestamp_ms) <= time_us;
  });
  const std::string asked = FormatTimestamp(time_us);
  if (entry == log.rend()) {
    const std::string first = log.empty() ? ""
                                          : ", the first that is known became current at " +
                                                When(log.front().timestamp_ms);
    return NotFound("table {}: no snapshot is known that was current at {}{}; {}", table, asked,
                    first, WhatThereIs(metadata));
  }
  if (const Snapshot* snapshot = iceberg::SnapshotById(metadata, entry->snapshot_id)) {
    return snapshot;
  }
  return NotFound("table {}: snapshot {}, which was current at {}, has expired; {}", table,
                  entry->snapshot_id, asked, WhatThereIs(metadata));
}

const Snapshot& SnapshotOf(duckdb::ClientContext& context, const TableVersion& table,
                           const duckdb::BoundAtClause& at) {
  const std::string unit = ToLowerAscii(at.Unit());
  const duckdb::Value& value = at.GetValue();
  if (value.IsNull()) {
    Throw(InvalidArgument("table {}: AT ({} => NULL) names no snapshot", table.name, at.Unit()));
  }
  if (unit == "version") {
    const auto id = value.type().id();
    if (!value.type().IsIntegral() && id != duckdb::LogicalTypeId::VARCHAR) {
      Throw(InvalidArgument(
          "table {}: AT (VERSION => {}) must be the id of a snapshot or the name of a branch or "
          "tag, not of type {}",
          table.name, value.ToString(), value.type().ToString()));
    }
    return *ValueOrThrow(SnapshotOfVersion(table.name, *table.metadata, value.ToString()));
  }
  if (unit == "timestamp") {
    duckdb::Value time;
    duckdb::string error = "a timestamp, a date or a text is";
    if (value.type().IsNumeric() || value.type().id() == duckdb::LogicalTypeId::BOOLEAN ||
        !value.TryCastAs(context, duckdb::LogicalType::TIMESTAMP_TZ, time, &error) ||
        time.IsNull()) {
      Throw(InvalidArgument("table {}: AT (TIMESTAMP => {}) is not a time: {}", table.name,
                            value.ToString(), error));
    }
    return *ValueOrThrow(SnapshotOfTime(table.name, *table.metadata,
                                        time.GetValueUnsafe<duckdb::timestamp_t>().value));
  }
  Throw(InvalidArgument("table {}: AT takes VERSION or TIMESTAMP, not {}", table.name, at.Unit()));
}

std::shared_ptr<const TableVersion> AtSnapshot(const TableVersion& table,
                                               const iceberg::Snapshot& snapshot) {
  // A copy in which the snapshot and its schema are the current ones: planning and dedup on read
  // take columns from there.
  auto metadata = std::make_shared<TableMetadata>(*table.metadata);
  metadata->current_snapshot_id = snapshot.snapshot_id;
  if (snapshot.schema_id && iceberg::SchemaById(*metadata, *snapshot.schema_id)) {
    metadata->current_schema_id = *snapshot.schema_id;
  }
  auto result = std::make_shared<TableVersion>(table);
  result->schema = iceberg::CurrentSchema(*metadata);
  result->snapshot = iceberg::CurrentSnapshot(*metadata);
  result->metadata = std::move(metadata);
  result->time_travel = true;
  result->latest = nullptr;  // the index is the newest snapshot's
  FitContract(*result->schema, result.get());
  return result;
}

}  // namespace timelake::sql

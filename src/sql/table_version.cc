#include "sql/table_version.h"

#include <utility>

#include "base/text.h"
#include "index/last_value_index.h"
#include "scan/superseded.h"

namespace timelake::sql {

namespace {

Result<scan::Plan> PlanOf(const TableVersion& table, const scan::Predicate& predicate) {
  TL_ASSIGN_OR_RAISE(scan::Plan plan,
                     scan::PlanFiles(table.env, *table.metadata, table.snapshot, predicate));
  if (!table.dedup) return plan;
  const scan::DedupKey key{.key_ids = table.contract.key_ids,
                           .time_id = *table.contract.time_id,
                           .ingest_time_id = table.contract.ingest_time_id,
                           .appends_are_unique = table.contract.dedup};
  TL_RETURN_NOT_OK(
      scan::MarkSuperseded(table.env, *table.metadata, table.snapshot, key, predicate, &plan));
  return plan;
}

// Files whose rows are all there count as their manifests say.
std::optional<int64_t> CountRows(const TableVersion& table) {
  auto plan = PlanOf(table, {});
  if (!plan.ok()) return std::nullopt;  // the scan meets it again
  int64_t rows = 0;
  for (const scan::ScanFile& file : plan->files) {
    if (!file.position_deletes.empty() || !file.equality_deletes.empty()) return std::nullopt;
    rows += file.file.record_count;
    if (file.superseded) rows -= static_cast<int64_t>(file.superseded->size());
  }
  return rows;
}

Result<std::shared_ptr<scan::Scanner>> OpenFiles(const TableVersion& table,
                                                 scan::ScanRequest request) {
  TL_ASSIGN_OR_RAISE(scan::Plan plan, PlanOf(table, request.predicate));
  request.schema = *table.schema;
  request.keep_dictionaries = true;
  return scan::Scanner::Make(table.env, *table.metadata, std::move(plan), std::move(request));
}

// What a query may read to bring an older index up to date.
constexpr int64_t kIndexBytes = 16 << 20;

std::shared_ptr<arrow::RecordBatch> NewestRows(const TableVersion& table) {
  // The index has the columns of today.
  if (!table.snapshot || table.schema != iceberg::CurrentSchema(*table.metadata)) return nullptr;
  auto rows =
      index::ValidAt(table.env, *table.metadata, *table.snapshot, table.contract, kIndexBytes);
  return rows.ok() && *rows ? **rows : nullptr;
}

}  // namespace

Result<std::shared_ptr<const TableVersion>> CurrentVersion(const table::Handle& handle,
                                                           const table::Version& version,
                                                           const table::SettingMap& session) {
  auto result = std::make_shared<TableVersion>();
  result->name = handle.name();
  result->number = version.number;
  result->metadata = version.metadata;
  result->schema = iceberg::CurrentSchema(*result->metadata);
  result->snapshot = iceberg::CurrentSnapshot(*result->metadata);
  result->env = handle.env();
  auto contract = table::ReadContract(*version.metadata);
  if (!contract.ok()) return WithContext(contract.status(), handle.name());
  result->contract = *std::move(contract);
  TL_ASSIGN_OR_RAISE(const auto settings,
                     table::ResolveSettings(version.metadata->properties, session));
  result->dedup =
      result->contract.is_time_series() && settings.read_dedup.value_or(result->contract.dedup);
  result->open = OpenFiles;
  result->count = CountRows;
  if (result->contract.is_time_series() && settings.latest_from_index) result->latest = NewestRows;
  return result;
}

std::shared_ptr<const TableVersion> LatestVersion(const TableVersion& table,
                                                  std::shared_ptr<arrow::RecordBatch> rows) {
  auto latest = std::make_shared<TableVersion>(table);
  latest->latest = nullptr;
  latest->count = nullptr;
  latest->rewrite = "newest rows from the last-value index";
  latest->rows_in_place = rows->num_rows();
  latest->open = [rows](const TableVersion& version,
                        scan::ScanRequest request) -> Result<std::shared_ptr<scan::Scanner>> {
    request.schema = *version.schema;
    return scan::ScanBatch(rows, std::move(request));
  };
  return latest;
}

int64_t DeclaredRows(const TableVersion& table) {
  if (table.rows_in_place) return *table.rows_in_place;
  if (!table.snapshot) return 0;
  const auto found = table.snapshot->summary.find("total-records");
  if (found == table.snapshot->summary.end()) return 0;
  const Result<int64_t> rows = ParseInt64(found->second);
  return rows.ok() && *rows > 0 ? *rows : 0;
}

}  // namespace timelake::sql

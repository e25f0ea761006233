#include "sql/table_version.h"

#include <utility>

#include "base/text.h"
#include "scan/superseded.h"
#include "sql/newest_rows.h"

namespace timelake::sql {

namespace {

Result<scan::Plan> PlanOf(const TableVersion& table, const scan::Predicate& predicate, bool mark) {
  TL_ASSIGN_OR_RAISE(scan::Plan plan,
                     scan::PlanFiles(table.env, *table.metadata, table.snapshot, predicate));
  if (!table.dedup || !mark) return plan;
  const scan::DedupKey key{.key_ids = table.contract.key_ids,
                           .time_id = *table.contract.time_id,
                           .ingest_time_id = table.contract.ingest_time_id,
                           .appends_are_unique = table.contract.dedup};
  TL_RETURN_NOT_OK(
      scan::MarkSuperseded(table.env, *table.metadata, table.snapshot, key, predicate, &plan));
  return plan;
}

Result<scan::FileList> FilesOf(const TableVersion& table, const scan::Predicate& predicate) {
  return scan::ListFiles(table.env, *table.metadata, table.snapshot, predicate);
}

Result<std::shared_ptr<scan::Scanner>> OpenFiles(const TableVersion& table,
                                                 scan::ScanRequest request) {
  TL_ASSIGN_OR_RAISE(scan::Plan plan, PlanOf(table, request.predicate, true));
  if (table.answered) {
    std::erase_if(plan.files, [&](const scan::ScanFile& file) {
      return table.answered->contains(file.data->file_path);
    });
  }
  request.schema = *table.schema;
  request.keep_dictionaries = true;
  return scan::Scanner::Make(table.env, *table.metadata, std::move(plan), std::move(request));
}

}  // namespace

namespace {

Status Apply(const table::SettingMap& session, TableVersion* version) {
  TL_ASSIGN_OR_RAISE(const auto settings,
                     table::ResolveSettings(version->metadata->properties, session));
  const table::Contract& contract = version->contract;
  version->dedup = contract.is_time_series() && settings.read_dedup.value_or(contract.dedup);
  version->aggregates_from_metadata = settings.aggregates_from_metadata;
  version->latest = nullptr;
  // The index is the newest snapshot's.
  if (contract.is_time_series() && settings.latest_from_index && !version->time_travel) {
    version->latest = NewestRows;
  }
  return Status::OK();
}

}  // namespace

Result<std::shared_ptr<const TableVersion>> WithSettings(const TableVersion& table,
                                                         const table::SettingMap& session) {
  auto result = std::make_shared<TableVersion>(table);
  TL_RETURN_NOT_OK(Apply(session, result.get()));
  return result;
}

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
  TL_RETURN_NOT_OK(Apply(session, result.get()));
  result->open = OpenFiles;
  result->plan = PlanOf;
  result->files = FilesOf;
  return result;
}

namespace {

std::shared_ptr<TableVersion> InPlace(const TableVersion& table,
                                      std::shared_ptr<arrow::RecordBatch> rows,
                                      std::string rewrite) {
  auto result = std::make_shared<TableVersion>(table);
  result->latest = nullptr;
  result->plan = nullptr;
  result->files = nullptr;
  result->rewrite = std::move(rewrite);
  result->rows = rows;
  result->open = [rows = std::move(rows)](
                     const TableVersion& version,
                     scan::ScanRequest request) -> Result<std::shared_ptr<scan::Scanner>> {
    if (request.row_ids) return InternalError("table {}: rows without ids", version.name);
    request.schema = *version.schema;
    return scan::ScanBatch(rows, std::move(request));
  };
  return result;
}

}  // namespace

std::shared_ptr<const TableVersion> WithDedup(const TableVersion& table) {
  auto result = std::make_shared<TableVersion>(table);
  result->dedup = true;
  return result;
}

std::shared_ptr<const TableVersion> LatestVersion(const TableVersion& table,
                                                  std::shared_ptr<arrow::RecordBatch> rows) {
  return InPlace(table, std::move(rows), "newest rows from the last-value index");
}

std::shared_ptr<const TableVersion> WithRows(const TableVersion& table,
                                             std::shared_ptr<arrow::RecordBatch> rows) {
  return InPlace(table, std::move(rows), table.rewrite);
}

std::shared_ptr<const TableVersion> AnsweredVersion(const TableVersion& table,
                                                    std::string from_metadata) {
  auto row = arrow::RecordBatch::Make(arrow::schema({}), 1, arrow::ArrayVector());
  const auto result = InPlace(table, std::move(row), "");
  result->from_metadata = std::move(from_metadata);
  return result;
}

std::shared_ptr<const TableVersion> WithoutFiles(const TableVersion& table,
                                                 std::set<std::string> answered,
                                                 std::string from_metadata) {
  auto result = std::make_shared<TableVersion>(table);
  result->answered = std::make_shared<const std::set<std::string>>(std::move(answered));
  result->from_metadata = std::move(from_metadata);
  return result;
}

int64_t DeclaredRows(const TableVersion& table) {
  if (table.rows) return table.rows->num_rows();
  if (!table.snapshot) return 0;
  const auto found = table.snapshot->summary.find("total-records");
  if (found == table.snapshot->summary.end()) return 0;
  const Result<int64_t> rows = ParseInt64(found->second);
  return rows.ok() && *rows > 0 ? *rows : 0;
}

}  // namespace timelake::sql

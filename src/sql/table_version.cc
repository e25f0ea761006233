#include "sql/table_version.h"

#include <utility>

#include "base/text.h"
#include "scan/superseded.h"

namespace timelake::sql {

namespace {

Result<std::shared_ptr<scan::Scanner>> OpenFiles(const TableVersion& table,
                                                 scan::ScanRequest request) {
  TL_ASSIGN_OR_RAISE(scan::Plan plan, scan::PlanFiles(table.env, *table.metadata, table.snapshot,
                                                      request.predicate));
  if (table.dedup) {
    scan::DedupKey key{.key_ids = table.contract.key_ids,
                       .time_id = *table.contract.time_id,
                       .ingest_time_id = table.contract.ingest_time_id};
    TL_RETURN_NOT_OK(scan::MarkSuperseded(table.env, *table.metadata, table.snapshot, key,
                                          request.predicate, &plan));
  }
  request.schema = *table.schema;
  request.keep_dictionaries = true;
  return scan::Scanner::Make(table.env, *table.metadata, std::move(plan), std::move(request));
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
  return result;
}

int64_t DeclaredRows(const TableVersion& table) {
  if (!table.snapshot) return 0;
  const auto found = table.snapshot->summary.find("total-records");
  if (found == table.snapshot->summary.end()) return 0;
  const Result<int64_t> rows = ParseInt64(found->second);
  return rows.ok() && *rows > 0 ? *rows : 0;
}

}  // namespace timelake::sql

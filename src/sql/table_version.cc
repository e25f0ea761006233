#include "sql/table_version.h"

#include <utility>

#include "base/text.h"

namespace timelake::sql {

namespace {

// Rows of one batch: enough to make a batch's fixed costs small, few enough to stay in the cache.
constexpr int64_t kBatchRows = 16384;

Result<std::shared_ptr<scan::Scanner>> OpenFiles(const TableVersion& table,
                                                 const std::vector<int>& field_ids,
                                                 const scan::Predicate& predicate) {
  TL_ASSIGN_OR_RAISE(scan::Plan plan,
                     scan::PlanFiles(table.env, *table.metadata, table.snapshot, predicate));
  scan::ScanRequest request;
  request.schema = *table.schema;
  request.field_ids = field_ids;
  request.predicate = predicate;
  request.batch_rows = kBatchRows;
  request.keep_dictionaries = true;
  return scan::Scanner::Make(table.env, *table.metadata, std::move(plan), std::move(request));
}

}  // namespace

std::shared_ptr<const TableVersion> CurrentVersion(const table::Handle& handle,
                                                   const table::Version& version) {
  auto result = std::make_shared<TableVersion>();
  result->name = handle.name();
  result->number = version.number;
  result->metadata = version.metadata;
  result->schema = iceberg::CurrentSchema(*result->metadata);
  result->snapshot = iceberg::CurrentSnapshot(*result->metadata);
  result->env = handle.env();
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

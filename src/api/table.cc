#include "timelake/table.h"

#include <arrow/record_batch.h>
#include <fmt/format.h>

#include "api/append.h"
#include "api/info.h"
#include "iceberg/arrow_schema.h"
#include "table/changes.h"
#include "table/contract.h"
#include "table/load.h"
#include "table/table_impl.h"

namespace timelake {

using table::Version;

Table::Table(std::shared_ptr<detail::TableImpl> impl) : impl_(std::move(impl)) {}

const std::string& Table::name() const { return impl_->handle->name(); }

const std::string& Table::location() const { return impl_->location; }

int64_t Table::version() const { return impl_->handle->known().number; }

std::shared_ptr<arrow::Schema> Table::schema() const {
  return iceberg::ToArrow(*iceberg::CurrentSchema(*impl_->handle->known().metadata));
}

arrow::Result<AppendResult> Table::Append(arrow::RecordBatchReader* reader,
                                          const AppendOptions& options) {
  return api::Append(*impl_->handle, impl_->catalog->session_settings(), reader, options);
}

arrow::Result<AppendResult> Table::Append(const std::shared_ptr<arrow::RecordBatch>& batch,
                                          const AppendOptions& options) {
  TL_ASSIGN_OR_RAISE(auto reader, arrow::RecordBatchReader::Make({batch}, batch->schema()));
  return Append(reader.get(), options);
}

arrow::Result<std::shared_ptr<arrow::Table>> Table::Latest() {
  TL_ASSIGN_OR_RAISE(Version version, table::LoadNewest(*impl_->handle));
  return api::Latest(impl_->handle->env(), name(), version);
}

arrow::Result<TableInfo> Table::Info() {
  TL_ASSIGN_OR_RAISE(Version version, table::LoadNewest(*impl_->handle));
  return api::DescribeTable(*impl_->handle, version);
}

arrow::Result<std::vector<SnapshotInfo>> Table::Snapshots() {
  TL_ASSIGN_OR_RAISE(Version version, table::LoadNewest(*impl_->handle));
  return api::DescribeSnapshots(*version.metadata);
}

arrow::Result<std::vector<FileInfo>> Table::Files() {
  TL_ASSIGN_OR_RAISE(Version version, table::LoadNewest(*impl_->handle));
  return api::DescribeFiles(impl_->handle->env(), *version.metadata);
}

arrow::Result<int64_t> Table::Refresh() {
  TL_ASSIGN_OR_RAISE(Version version, table::LoadNewest(*impl_->handle));
  return version.number;
}

arrow::Status Table::SetProperties(
    const std::map<std::string, std::optional<std::string>>& properties) {
  return table::CommitProperties(*impl_->handle, properties).status();
}

arrow::Status Table::Rollback(int64_t snapshot_id) {
  return table::CommitRollback(*impl_->handle, snapshot_id).status();
}

std::string Table::DuckDbSql() const {
  std::string folder = impl_->location;
  if (folder.starts_with("file://")) folder = folder.substr(7);
  std::string quoted;
  for (char c : folder) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  std::string sql =
      fmt::format("INSTALL iceberg; LOAD iceberg;\nSELECT * FROM iceberg_scan('{}');", quoted);
  const auto* head = iceberg::CurrentSnapshot(*impl_->handle->known().metadata);
  if (head == nullptr) return sql;
  auto index = head->summary.find(table::kLastValueIndex);
  if (index == head->summary.end()) return sql;
  return sql + fmt::format(
                   "\n-- the newest row of every series at this version:\n"
                   "SELECT * FROM read_parquet('{}');",
                   index->second.starts_with("file://") ? index->second.substr(7) : index->second);
}

}  // namespace timelake

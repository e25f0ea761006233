#include "timelake/table.h"

#include <arrow/record_batch.h>
#include <fmt/format.h>

#include "api/append.h"
#include "api/info.h"
#include "base/text.h"
#include "iceberg/arrow_schema.h"
#include "index/index_parts.h"
#include "table/changes.h"
#include "table/contract.h"
#include "table/load.h"
#include "table/schema_changes.h"
#include "table/table_impl.h"

namespace timelake {

using table::Version;

namespace {

// As SQL has text (') and names (").
std::vector<std::string> Quoted(const std::vector<std::string>& texts, char quote) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) {
    std::string& out = quoted.emplace_back(1, quote);
    for (char c : text) out += c == quote ? std::string(2, quote) : std::string(1, c);
    out += quote;
  }
  return quoted;
}

arrow::Result<Version> Seen(const detail::TableImpl& table) {
  return table::LoadForReader(*table.handle, table.catalog->session_settings());
}

std::string WithoutScheme(const std::string& uri) {
  return uri.starts_with("file://") ? uri.substr(7) : uri;
}

std::string ReadParquet(const std::string& uri) {
  return "read_parquet(" + Quoted({WithoutScheme(uri)}, '\'')[0] + ")";
}

}  // namespace

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
  TL_ASSIGN_OR_RAISE(Version version, Seen(*impl_));
  return api::Latest(impl_->handle->env(), name(), version);
}

arrow::Result<TableInfo> Table::Info() {
  TL_ASSIGN_OR_RAISE(Version version, Seen(*impl_));
  return api::DescribeTable(*impl_->handle, version);
}

arrow::Result<std::vector<SnapshotInfo>> Table::Snapshots() {
  TL_ASSIGN_OR_RAISE(Version version, Seen(*impl_));
  return api::DescribeSnapshots(*version.metadata);
}

arrow::Result<std::vector<FileInfo>> Table::Files() {
  TL_ASSIGN_OR_RAISE(Version version, Seen(*impl_));
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

arrow::Status Table::ChangeSchema(const std::vector<SchemaChange>& changes) {
  std::vector<table::ColumnChange> columns;
  for (const SchemaChange& change : changes) {
    TL_ASSIGN_OR_RAISE(columns.emplace_back(), table::ToColumnChange(name(), change));
  }
  return table::CommitSchema(*impl_->handle, columns).status();
}

arrow::Status Table::Rollback(int64_t snapshot_id) {
  return table::CommitRollback(*impl_->handle, snapshot_id).status();
}

std::string Table::DuckDbSql() const {
  std::string sql = fmt::format("INSTALL iceberg; LOAD iceberg;\nSELECT * FROM iceberg_scan({});",
                                Quoted({WithoutScheme(impl_->location)}, '\'')[0]);
  const auto* head = iceberg::CurrentSnapshot(*impl_->handle->known().metadata);
  if (head == nullptr) return sql;
  const auto index = index::PartsOf(*head);
  const auto contract = table::ReadContract(*impl_->handle->known().metadata);
  if (!index || !contract.ok()) return sql;
  std::vector<std::string> newest_first = {contract->time_name};
  if (contract->ingest_time_id) newest_first.push_back(contract->ingest_time_name);
  newest_first.push_back("_later");
  sql += "\n-- the newest row of every series at this version:\n";
  if (index->part.empty()) return sql + "SELECT * FROM " + ReadParquet(index->base) + ";";
  return sql +
         fmt::format(
             "SELECT * EXCLUDE (_later) FROM (SELECT *, 0 AS _later FROM {} UNION ALL BY NAME "
             "SELECT *, 1 AS _later FROM {})\n"
             "QUALIFY row_number() OVER (PARTITION BY {} ORDER BY {} DESC) = 1;",
             ReadParquet(index->base), ReadParquet(index->part),
             Join(Quoted(contract->key_names, '"'), ", "),
             Join(Quoted(newest_first, '"'), " DESC, "));
}

}  // namespace timelake

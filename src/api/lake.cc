#include "timelake/lake.h"

#include <filesystem>
#include <map>

#include "api/append.h"
#include "api/delete_rows.h"
#include "api/rollups.h"
#include "base/text.h"
#include "iceberg/arrow_schema.h"
#include "store/cached_store.h"
#include "store/metered_store.h"
#include "store/open_store.h"
#include "store/scheme.h"
#include "store/write_behind_store.h"
#include "table/catalog.h"
#include "table/lake_impl.h"
#include "table/rollup_properties.h"
#include "table/rollups.h"
#include "table/table_impl.h"

namespace timelake {
namespace {

using table::Catalog;
using table::TableName;

store::CredentialsCallback ForStore(CredentialsCallback credentials) {
  if (!credentials) return nullptr;
  return [credentials = std::move(credentials)]() -> Result<store::StorageKeys> {
    TL_ASSIGN_OR_RAISE(StorageCredentials given, credentials());
    return store::StorageKeys{std::move(given.keys), given.expires_us};
  };
}

// One that does not exist yet is made by the first table.
arrow::Status CheckFolder(const store::Location& location) {
  if (location.scheme != "file") return Status::OK();
  std::error_code ignored;
  const auto status = std::filesystem::status(location.root, ignored);
  if (!std::filesystem::exists(status)) return Status::OK();
  if (std::filesystem::is_directory(status)) return Status::OK();
  return InvalidArgument("warehouse {} is a file, not a folder", location.root);
}

arrow::Result<table::SettingMap> CheckSessionSettings(
    const std::map<std::string, std::string>& settings) {
  table::SettingMap checked;
  for (const auto& [name, value] : settings) {
    TL_ASSIGN_OR_RAISE(std::string key, table::CheckSetting(name, value, table::kAtSession));
    checked[std::string(table::FindSetting(name)->name)] = value;
  }
  return checked;
}

Table Wrap(const std::shared_ptr<detail::LakeImpl>& lake, std::shared_ptr<table::Handle> handle) {
  auto impl = std::make_shared<detail::TableImpl>();
  impl->catalog = lake->catalog;
  impl->location = handle->location();
  impl->handle = std::move(handle);
  return Table(std::move(impl));
}

}  // namespace

arrow::Result<Lake> Lake::Open(std::string_view location, const LakeOptions& options,
                               CredentialsCallback credentials) {
  TL_ASSIGN_OR_RAISE(store::Location parsed, store::ParseLocation(location));
  const std::string_view kind = store::KindOfScheme(parsed.scheme);
  const bool remote = kind != "file" && kind != "memory";
  auto storage_options = options.storage_options;
  TL_ASSIGN_OR_RAISE(const auto cache, store::TakeCacheOptions(&storage_options, remote));
  TL_RETURN_NOT_OK(CheckFolder(parsed));
  TL_ASSIGN_OR_RAISE(auto settings, CheckSessionSettings(options.settings));
  TL_ASSIGN_OR_RAISE(auto store,
                     store::OpenStore(parsed, storage_options, ForStore(std::move(credentials))));
  std::function<void(const char*, int64_t)> metric;
  if (options.observer) metric = options.observer->metric;
  if (metric) store = store::MakeMeteredStore(std::move(store), metric);
  if (remote && kind != "http") store = store::MakeWriteBehindStore(std::move(store));
  TL_ASSIGN_OR_RAISE(store, store::MakeCachedStore(std::move(store), cache, std::move(metric)));
  auto impl = std::make_shared<detail::LakeImpl>();
  impl->catalog = std::make_shared<Catalog>(table::MakeEnv(std::move(store), options.observer),
                                            parsed.root, std::move(settings));
  impl->location = impl->catalog->location_uri();
  impl->append = api::Append;
  impl->erase = api::DeleteRows;
  impl->rollups = [catalog = impl->catalog](const table::RollupStatement& statement) {
    return api::RunRollupStatement(*catalog, statement);
  };
  return Lake(std::move(impl));
}

Lake::Lake(std::shared_ptr<detail::LakeImpl> impl) : impl_(std::move(impl)) {}

const std::string& Lake::location() const { return impl_->location; }

std::optional<CacheStats> Lake::cache_stats() const {
  return store::CacheStatsOf(*impl_->catalog->env().store);
}

arrow::Result<Table> Lake::CreateTable(std::string_view name,
                                       const std::shared_ptr<arrow::Schema>& schema,
                                       const TableOptions& options) {
  TL_ASSIGN_OR_RAISE(TableName parsed, table::ParseTableName(name));
  TL_ASSIGN_OR_RAISE(iceberg::Schema columns, iceberg::FromArrow(*schema));
  TL_ASSIGN_OR_RAISE(auto handle, impl_->catalog->Create(parsed, columns, options));
  return Wrap(impl_, std::move(handle));
}

arrow::Result<Table> Lake::CreateTable(std::string_view name, std::string_view schema,
                                       const TableOptions& options) {
  TL_ASSIGN_OR_RAISE(TableName parsed, table::ParseTableName(name));
  TL_ASSIGN_OR_RAISE(iceberg::Schema columns, iceberg::ParseSchemaText(schema));
  TL_ASSIGN_OR_RAISE(auto handle, impl_->catalog->Create(parsed, columns, options));
  return Wrap(impl_, std::move(handle));
}

arrow::Result<Table> Lake::OpenTable(std::string_view name) {
  TL_ASSIGN_OR_RAISE(TableName parsed, table::ParseTableName(name));
  TL_ASSIGN_OR_RAISE(auto handle, impl_->catalog->Open(parsed, Catalog::For::kReading));
  // A table of a newer format is refused when it is opened, not by the first odd result.
  TL_RETURN_NOT_OK(
      WithContext(table::ReadContract(*handle->known().metadata).status(), handle->name()));
  return Wrap(impl_, std::move(handle));
}

arrow::Result<std::vector<std::string>> Lake::ListNamespaces() {
  return impl_->catalog->Namespaces();
}

arrow::Result<std::vector<std::string>> Lake::ListTables(std::string_view name_space) {
  std::vector<std::string> spaces = {std::string(name_space)};
  if (name_space.empty()) {
    TL_ASSIGN_OR_RAISE(spaces, impl_->catalog->Namespaces());
  } else {
    TL_RETURN_NOT_OK(table::ParseTableName(spaces[0] + ".t").status());
  }
  std::vector<std::string> names;
  for (const auto& space : spaces) {
    TL_ASSIGN_OR_RAISE(auto tables, impl_->catalog->Tables(space));
    for (const auto& table : tables) names.push_back(space + "." + table);
  }
  return names;
}

arrow::Status Lake::DropTable(std::string_view name, const DropOptions& options) {
  TL_ASSIGN_OR_RAISE(TableName parsed, table::ParseTableName(name));
  return table::DropWithRollups(*impl_->catalog, parsed, options.if_exists, options.purge,
                                options.cascade);
}

namespace {

arrow::Result<RollupRefresh> RunOne(detail::LakeImpl& lake, table::RollupStatement statement,
                                    std::string_view name) {
  TL_ASSIGN_OR_RAISE(const TableName parsed, table::ParseTableName(name));
  statement.name = parsed.full();
  statement.name_space = "default";
  TL_ASSIGN_OR_RAISE(const auto results, api::RunRollupStatement(*lake.catalog, statement));
  RollupRefresh refresh;
  refresh.rollup = parsed.full();
  if (results.empty()) return refresh;
  refresh.rows = results[0].rows;
  refresh.ranges = results[0].buckets;
  refresh.left = results[0].left;
  refresh.changed = results[0].changed;
  return refresh;
}

}  // namespace

arrow::Result<RollupRefresh> Lake::CreateRollup(std::string_view name, std::string_view select,
                                                const RollupOptions& options) {
  table::RollupStatement statement;
  statement.kind = table::RollupStatement::Kind::kCreate;
  statement.select = select;
  statement.or_replace = options.or_replace;
  statement.if_not_exists = options.if_not_exists;
  statement.settings.insert(options.settings.begin(), options.settings.end());
  statement.cancelled = options.cancelled;
  return RunOne(*impl_, std::move(statement), name);
}

arrow::Result<RollupRefresh> Lake::RefreshRollup(std::string_view name,
                                                 const RefreshRollupOptions& options) {
  if (options.max_bytes < 0) {
    return InvalidArgument("max_bytes {}: accepted is a number of bytes, or 0 for no limit",
                           options.max_bytes);
  }
  table::RollupStatement statement;
  statement.kind = table::RollupStatement::Kind::kRefresh;
  statement.full = options.full;
  statement.max_bytes = options.max_bytes;
  statement.cancelled = options.cancelled;
  return RunOne(*impl_, std::move(statement), name);
}

arrow::Result<std::vector<RollupInfo>> Lake::ListRollups() {
  TL_ASSIGN_OR_RAISE(const auto results, api::RunRollupStatement(*impl_->catalog, {}));
  std::vector<RollupInfo> rollups;
  for (const auto& result : results) {
    RollupInfo& info = rollups.emplace_back();
    info.rollup = result.rollup;
    info.source = result.source;
    info.width = result.width;
    info.keys = result.keys;
    info.aggregates = result.aggregates;
    info.filter = result.filter;
    info.refresh_interval = result.refresh_interval;
    info.retention = result.retention;
    info.source_sequence = result.source_sequence;
    info.stale = result.stale;
  }
  return rollups;
}

arrow::Status Lake::DropRollup(std::string_view name, bool if_exists) {
  table::RollupStatement statement;
  statement.kind = table::RollupStatement::Kind::kDrop;
  statement.if_exists = if_exists;
  return RunOne(*impl_, std::move(statement), name).status();
}

std::string RollupSourceOf(const std::map<std::string, std::string>& properties) {
  return table::RollupSource(properties);
}

std::vector<std::string> RollupsOf(const std::map<std::string, std::string>& properties) {
  return table::RollupsOf(properties);
}

}  // namespace timelake

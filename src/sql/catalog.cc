#include "sql/catalog.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <duckdb/catalog/catalog.hpp>
#include <duckdb/main/attached_database.hpp>
#include <duckdb/main/config.hpp>
#include <duckdb/parser/parsed_data/create_schema_info.hpp>
#include <duckdb/parser/parsed_data/drop_info.hpp>
#include <duckdb/planner/parsed_data/bound_create_table_info.hpp>
#include <duckdb/storage/database_size.hpp>
#include <duckdb/storage/storage_extension.hpp>

#include "base/text.h"
#include "sql/delete_operator.h"
#include "sql/error.h"
#include "sql/lake_context.h"
#include "sql/plain_casts.h"
#include "sql/schema_entry.h"
#include "sql/transaction.h"
#include "sql/write_plans.h"

namespace timelake::sql {

namespace {

struct LakeExtensionInfo : duckdb::StorageExtensionInfo {
  std::shared_ptr<LakeContext> lake;
};

// The warehouse as an attached catalog: namespaces are schemas. Schemas live as long as the
// session; tables belong to the transaction. No catalog version is given out: every execution binds
// anew and sees the newest snapshots.
class LakeCatalog : public duckdb::Catalog {
 public:
  LakeCatalog(duckdb::AttachedDatabase& db, std::shared_ptr<LakeContext> lake)
      : duckdb::Catalog(db), lake_(std::move(lake)) {}

  LakeContext& lake() { return *lake_; }

  void Initialize(bool) override {}
  duckdb::string GetCatalogType() override { return "timelake"; }
  duckdb::string GetDefaultSchema() const override { return lake_->default_namespace(); }
  bool InMemory() override { return false; }
  duckdb::string GetDBPath() override { return lake_->catalog().location_uri(); }
  bool SupportsTimeTravel() const override { return true; }
  duckdb::DatabaseSize GetDatabaseSize(duckdb::ClientContext&) override { return {}; }

  duckdb::optional_ptr<duckdb::SchemaCatalogEntry> LookupSchema(
      duckdb::CatalogTransaction transaction, const duckdb::EntryLookupInfo& lookup,
      duckdb::OnEntryNotFound if_not_found) override {
    const std::string& name = lookup.GetEntryName();
    if (lake_->IsKnown(name)) return &Schema(name);
    if (const auto found = Find(lake_->known_namespaces(), name)) return &Schema(*found);
    const bool meant = lake_->main_is_named() || ToLowerAscii(name) != "main";
    if (meant && transaction.HasContext()) {
      auto& lake = LakeTransaction::Get(transaction.GetContext(), *this);
      if (const auto found = Find(lake.Namespaces(), name)) return &Schema(*found);
    }
    if (if_not_found == duckdb::OnEntryNotFound::RETURN_NULL) return nullptr;
    throw duckdb::CatalogException(lookup.GetErrorContext(),
                                   "Schema with name \"%s\" does not exist: the lake has no "
                                   "namespace of that name",
                                   name);
  }

  void ScanSchemas(duckdb::ClientContext& context,
                   std::function<void(duckdb::SchemaCatalogEntry&)> callback) override {
    std::set<std::string> names;
    for (auto& name : LakeTransaction::Get(context, *this).Namespaces()) names.insert(name);
    names.insert(lake_->default_namespace());
    for (const auto& name : names) callback(Schema(name));
  }

  // Asked for each qualified name: must cost nothing.
  bool CheckAmbiguousCatalogOrSchema(duckdb::ClientContext&, const duckdb::string& name) override {
    return lake_->IsKnown(name);
  }

  // A namespace is a folder: it comes into being with its first table, until then the session
  // remembers it.
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateSchema(duckdb::CatalogTransaction transaction,
                                                          duckdb::CreateSchemaInfo& info) override {
    ThrowIfError(table::ParseTableName(info.schema + ".t").status());
    auto& lake = LakeTransaction::Get(transaction.GetContext(), *this);
    const bool there =
        Find(lake_->known_namespaces(), info.schema) || Find(lake.Namespaces(), info.schema);
    if (there && info.on_conflict != duckdb::OnCreateConflict::IGNORE_ON_CONFLICT) {
      Throw(AlreadyExists("namespace {} already exists", info.schema));
    }
    if (!there) lake_->Learn({info.schema});
    return nullptr;
  }
  void DropSchema(duckdb::ClientContext&, duckdb::DropInfo&) override {
    ThrowReadOnly("DROP SCHEMA");
  }
  // The default asks for row ids, which our tables do not have: an internal error.
  duckdb::unique_ptr<duckdb::LogicalOperator> BindCreateIndex(
      duckdb::Binder&, duckdb::CreateStatement&, duckdb::TableCatalogEntry&,
      duckdb::unique_ptr<duckdb::LogicalOperator>) override {
    ThrowReadOnly("CREATE INDEX");
  }
  duckdb::unique_ptr<duckdb::LogicalOperator> BindAlterAddIndex(
      duckdb::Binder&, duckdb::TableCatalogEntry&, duckdb::unique_ptr<duckdb::LogicalOperator>,
      duckdb::unique_ptr<duckdb::CreateIndexInfo>,
      duckdb::unique_ptr<duckdb::AlterTableInfo>) override {
    ThrowReadOnly("ALTER");
  }
  duckdb::ErrorData SupportsCreateTable(duckdb::BoundCreateTableInfo&) override {
    return {};  // what is not is said by ToNewTable
  }
  duckdb::PhysicalOperator& PlanCreateTableAs(duckdb::ClientContext& context,
                                              duckdb::PhysicalPlanGenerator& planner,
                                              duckdb::LogicalCreateTable& logical,
                                              duckdb::PhysicalOperator& source) override {
    return PlanCreate(context, planner, logical, source, *lake_);
  }
  duckdb::PhysicalOperator& PlanInsert(
      duckdb::ClientContext& context, duckdb::PhysicalPlanGenerator& planner,
      duckdb::LogicalInsert& logical,
      duckdb::optional_ptr<duckdb::PhysicalOperator> source) override {
    return sql::PlanInsert(context, planner, logical, source, *lake_);
  }
  duckdb::PhysicalOperator& PlanMergeInto(duckdb::ClientContext&, duckdb::PhysicalPlanGenerator&,
                                          duckdb::LogicalMergeInto&,
                                          duckdb::PhysicalOperator&) override {
    ThrowReadOnly("MERGE INTO, or INSERT with ON CONFLICT,");
  }
  duckdb::PhysicalOperator& PlanDelete(duckdb::ClientContext& context,
                                       duckdb::PhysicalPlanGenerator& planner,
                                       duckdb::LogicalDelete& logical,
                                       duckdb::PhysicalOperator& source) override {
    return sql::PlanDelete(context, planner, logical, source, *lake_);
  }
  duckdb::PhysicalOperator& PlanUpdate(duckdb::ClientContext&, duckdb::PhysicalPlanGenerator&,
                                       duckdb::LogicalUpdate&, duckdb::PhysicalOperator&) override {
    ThrowReadOnly("UPDATE");
  }

 private:
  // The spelling in `names` of a name in any case.
  static std::optional<std::string> Find(const std::vector<std::string>& names,
                                         const std::string& name) {
    const std::string wanted = ToLowerAscii(name);
    std::optional<std::string> result;
    for (const std::string& candidate : names) {
      if (candidate == name) return candidate;
      if (ToLowerAscii(candidate) == wanted) result = candidate;
    }
    return result;
  }

  LakeSchema& Schema(const std::string& name) {
    std::lock_guard lock(mutex_);
    auto& entry = schemas_[name];
    if (!entry) entry = LakeSchema::Make(*this, *lake_, name);
    return *entry;
  }

  const std::shared_ptr<LakeContext> lake_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<LakeSchema>> schemas_;
};

duckdb::unique_ptr<duckdb::Catalog> Attach(duckdb::optional_ptr<duckdb::StorageExtensionInfo> info,
                                           duckdb::ClientContext&, duckdb::AttachedDatabase& db,
                                           const duckdb::string&, duckdb::AttachInfo&,
                                           duckdb::AttachOptions&) {
  const auto& extension = dynamic_cast<const LakeExtensionInfo&>(*info);
  return duckdb::make_uniq<LakeCatalog>(db, extension.lake);
}

duckdb::unique_ptr<duckdb::TransactionManager> MakeTransactionManager(
    duckdb::optional_ptr<duckdb::StorageExtensionInfo>, duckdb::AttachedDatabase& db,
    duckdb::Catalog& catalog) {
  return duckdb::make_uniq<LakeTransactionManager>(db, catalog.Cast<LakeCatalog>().lake());
}

}  // namespace

void RegisterCatalog(duckdb::DBConfig& config, std::shared_ptr<LakeContext> lake) {
  RegisterPlainCasts(config);
  auto info = duckdb::make_shared_ptr<LakeExtensionInfo>();
  info->lake = std::move(lake);
  auto extension = duckdb::make_shared_ptr<duckdb::StorageExtension>();
  extension->attach = Attach;
  extension->create_transaction_manager = MakeTransactionManager;
  extension->storage_info = std::move(info);
  duckdb::StorageExtension::Register(config, "timelake", std::move(extension));
}

}  // namespace timelake::sql

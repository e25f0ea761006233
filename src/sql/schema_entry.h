#pragma once

#include <functional>
#include <memory>
#include <string>

#include <duckdb/catalog/catalog_entry/schema_catalog_entry.hpp>

#include "sql/lake_context.h"

namespace timelake::sql {

// A namespace. It holds tables only.
class LakeSchema : public duckdb::SchemaCatalogEntry {
 public:
  static std::unique_ptr<LakeSchema> Make(duckdb::Catalog& catalog, LakeContext& lake,
                                          const std::string& name);

  LakeSchema(duckdb::Catalog& catalog, LakeContext& lake, duckdb::CreateSchemaInfo& info);

  using Callback = std::function<void(duckdb::CatalogEntry&)>;
  void Scan(duckdb::ClientContext& context, duckdb::CatalogType type,
            const Callback& callback) override;
  void Scan(duckdb::CatalogType type, const Callback& callback) override;
  using Entry = duckdb::optional_ptr<duckdb::CatalogEntry>;
  Entry LookupEntry(duckdb::CatalogTransaction transaction,
                    const duckdb::EntryLookupInfo& lookup) override;
  duckdb::SimilarCatalogEntry GetSimilarEntry(duckdb::CatalogTransaction transaction,
                                              const duckdb::EntryLookupInfo& lookup) override;

  // Each is one commit.
  Entry CreateTable(duckdb::CatalogTransaction transaction,
                    duckdb::BoundCreateTableInfo& info) override;
  void DropEntry(duckdb::ClientContext& context, duckdb::DropInfo& info) override;
  void Alter(duckdb::CatalogTransaction transaction, duckdb::AlterInfo& info) override;

  // All of these are errors.
  Entry CreateIndex(duckdb::CatalogTransaction, duckdb::CreateIndexInfo&,
                    duckdb::TableCatalogEntry&) override;
  Entry CreateFunction(duckdb::CatalogTransaction, duckdb::CreateFunctionInfo&) override;
  Entry CreateView(duckdb::CatalogTransaction, duckdb::CreateViewInfo&) override;
  Entry CreateSequence(duckdb::CatalogTransaction, duckdb::CreateSequenceInfo&) override;
  Entry CreateTableFunction(duckdb::CatalogTransaction, duckdb::CreateTableFunctionInfo&) override;
  Entry CreateCopyFunction(duckdb::CatalogTransaction, duckdb::CreateCopyFunctionInfo&) override;
  Entry CreatePragmaFunction(duckdb::CatalogTransaction,
                             duckdb::CreatePragmaFunctionInfo&) override;
  Entry CreateCollation(duckdb::CatalogTransaction, duckdb::CreateCollationInfo&) override;
  Entry CreateType(duckdb::CatalogTransaction, duckdb::CreateTypeInfo&) override;

 private:
  LakeContext& lake_;
};

// "INSERT is not supported: ..." with what to use instead.
[[noreturn]] void ThrowReadOnly(const char* statement);

}  // namespace timelake::sql

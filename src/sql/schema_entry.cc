#include "sql/schema_entry.h"

#include <duckdb/catalog/similar_catalog_entry.hpp>
#include <duckdb/common/string_util.hpp>
#include <duckdb/parser/parsed_data/create_schema_info.hpp>

#include "sql/error.h"
#include "sql/transaction.h"

namespace timelake::sql {

std::unique_ptr<LakeSchema> LakeSchema::Make(duckdb::Catalog& catalog, const std::string& name) {
  duckdb::CreateSchemaInfo info;
  info.schema = name;
  return std::make_unique<LakeSchema>(catalog, info);
}

LakeSchema::LakeSchema(duckdb::Catalog& catalog, duckdb::CreateSchemaInfo& info)
    : duckdb::SchemaCatalogEntry(catalog, info) {}

void LakeSchema::Scan(duckdb::ClientContext& context, duckdb::CatalogType type,
                      const Callback& callback) {
  if (type != duckdb::CatalogType::TABLE_ENTRY) return;
  for (duckdb::CatalogEntry* entry : LakeTransaction::Get(context, catalog).AllTables(*this)) {
    callback(*entry);
  }
}

void LakeSchema::Scan(duckdb::CatalogType, const Callback&) {
  // Without a context there is no transaction that could hold entries. DuckDB calls this for its
  // own dependency checks only, and there is nothing to depend on.
}

LakeSchema::Entry LakeSchema::LookupEntry(duckdb::CatalogTransaction transaction,
                                          const duckdb::EntryLookupInfo& lookup) {
  // Functions, types and collations are looked for here too, several times a statement.
  if (lookup.GetCatalogType() != duckdb::CatalogType::TABLE_ENTRY) return nullptr;
  if (!transaction.HasContext()) return nullptr;
  return LakeTransaction::Get(transaction.GetContext(), catalog).Table(*this, lookup);
}

duckdb::SimilarCatalogEntry LakeSchema::GetSimilarEntry(duckdb::CatalogTransaction transaction,
                                                        const duckdb::EntryLookupInfo& lookup) {
  // The default opens every table just to compare names.
  duckdb::SimilarCatalogEntry best;
  if (lookup.GetCatalogType() != duckdb::CatalogType::TABLE_ENTRY) return best;
  if (!transaction.HasContext()) return best;
  auto& lake = LakeTransaction::Get(transaction.GetContext(), catalog);
  for (const std::string& candidate : lake.TableNames(name)) {
    const double score = duckdb::StringUtil::SimilarityRating(candidate, lookup.GetEntryName());
    if (score > best.score) {
      best.score = score;
      best.name = candidate;
    }
  }
  return best;
}

void ThrowReadOnly(const char* statement) {
  Throw(
      Unsupported("{} is not supported: SQL only reads the lake. Use create, append, alter and "
                  "drop of the command or the library; for intermediate results CREATE TEMP "
                  "TABLE or CREATE TEMP VIEW",
                  statement));
}

LakeSchema::Entry LakeSchema::CreateTable(duckdb::CatalogTransaction,
                                          duckdb::BoundCreateTableInfo&) {
  ThrowReadOnly("CREATE TABLE");
}

LakeSchema::Entry LakeSchema::CreateIndex(duckdb::CatalogTransaction, duckdb::CreateIndexInfo&,
                                          duckdb::TableCatalogEntry&) {
  ThrowReadOnly("CREATE INDEX");
}

LakeSchema::Entry LakeSchema::CreateFunction(duckdb::CatalogTransaction,
                                             duckdb::CreateFunctionInfo&) {
  ThrowReadOnly("CREATE FUNCTION");
}

LakeSchema::Entry LakeSchema::CreateView(duckdb::CatalogTransaction, duckdb::CreateViewInfo&) {
  ThrowReadOnly("CREATE VIEW");
}

LakeSchema::Entry LakeSchema::CreateSequence(duckdb::CatalogTransaction,
                                             duckdb::CreateSequenceInfo&) {
  ThrowReadOnly("CREATE SEQUENCE");
}

LakeSchema::Entry LakeSchema::CreateTableFunction(duckdb::CatalogTransaction,
                                                  duckdb::CreateTableFunctionInfo&) {
  ThrowReadOnly("CREATE FUNCTION");
}

LakeSchema::Entry LakeSchema::CreateCopyFunction(duckdb::CatalogTransaction,
                                                 duckdb::CreateCopyFunctionInfo&) {
  ThrowReadOnly("CREATE FUNCTION");
}

LakeSchema::Entry LakeSchema::CreatePragmaFunction(duckdb::CatalogTransaction,
                                                   duckdb::CreatePragmaFunctionInfo&) {
  ThrowReadOnly("CREATE FUNCTION");
}

LakeSchema::Entry LakeSchema::CreateCollation(duckdb::CatalogTransaction,
                                              duckdb::CreateCollationInfo&) {
  ThrowReadOnly("CREATE COLLATION");
}

LakeSchema::Entry LakeSchema::CreateType(duckdb::CatalogTransaction, duckdb::CreateTypeInfo&) {
  ThrowReadOnly("CREATE TYPE");
}

void LakeSchema::DropEntry(duckdb::ClientContext&, duckdb::DropInfo&) { ThrowReadOnly("DROP"); }

void LakeSchema::Alter(duckdb::CatalogTransaction, duckdb::AlterInfo&) { ThrowReadOnly("ALTER"); }

}  // namespace timelake::sql
